#include "config/contradictions.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string_view>

#include "base/assert.h"

namespace belljar::config {
namespace {

struct Pair {
    std::string_view value;
    std::string_view maximum;
};

template <typename T>
void keep_below(Draft& draft, Pair pair) {
    const Key* value_key = find_key(pair.value);
    const Key* maximum_key = find_key(pair.maximum);
    BJ_ASSERT(value_key != nullptr && maximum_key != nullptr);
    T& value = *std::get<T*>(value_key->slot(draft.settings()));
    const T& maximum = *std::get<T*>(maximum_key->slot(draft.settings()));
    if (value <= maximum) {
        return;
    }
    Origin& origin = draft.origin_of(*value_key);
    if (origin.source == Origin::Source::Default) {
        value = maximum;
        origin.note = fmt::format("lowered to {}", maximum_key->name);
        return;
    }
    draft.add_problem(fmt::format("{} but {}; the first may not exceed the second",
                                  draft.describe(*value_key), draft.describe(*maximum_key)));
}

// The last 32-bit number is no user id: the kernel reads it as "none".
constexpr std::uint64_t kLastUserId = std::numeric_limits<std::uint32_t>::max() - 1ULL;

void check_user_ids(Draft& draft) {
    const IsolationSettings& isolation = draft.settings().isolation;
    const std::uint64_t last = std::uint64_t{isolation.uid_base} + isolation.uid_count - 1;
    if (last > kLastUserId) {
        draft.add_problem(fmt::format("{} and {}; together they go beyond the last user id, {}",
                                      draft.describe(*find_key("isolation.uid_base")),
                                      draft.describe(*find_key("isolation.uid_count")),
                                      kLastUserId));
    }
}

void check_oauth(Draft& draft) {
    const AuthSettings& auth = draft.settings().auth;
    if (auth.mode != AuthMode::OAuth) {
        return;
    }
    const std::string mode = draft.describe(*find_key("auth.mode"));
    if (auth.issuer.empty()) {
        draft.add_problem(fmt::format("{} but auth.issuer is empty; name the issuer", mode));
    }
    if (auth.jwks_url.empty() == auth.jwks_path.empty()) {
        draft.add_problem(
            fmt::format("{}; set one of auth.jwks_url and auth.jwks_path, not both", mode));
    }
}

void check_tls(Draft& draft) {
    const ServerSettings& server = draft.settings().server;
    if (server.tls_certificate.empty() != server.tls_key.empty()) {
        const char* given = server.tls_key.empty() ? "server.tls_certificate" : "server.tls_key";
        draft.add_problem(fmt::format("{}; set server.tls_certificate and server.tls_key, or none",
                                      draft.describe(*find_key(given))));
    }
}

}  // namespace

void resolve_contradictions(Draft& draft) {
    keep_below<Duration>(draft, {.value = "limits.timeout", .maximum = "limits.max_timeout"});
    keep_below<Bytes>(draft, {.value = "limits.memory", .maximum = "limits.max_memory"});
    keep_below<Bytes>(draft, {.value = "limits.output", .maximum = "limits.output_flood"});
    keep_below<Bytes>(draft, {.value = "limits.code", .maximum = "limits.body"});
    keep_below<std::uint32_t>(draft, {.value = "limits.concurrent_runs_per_principal",
                                      .maximum = "limits.concurrent_runs"});
    keep_below<std::uint32_t>(
        draft, {.value = "limits.queued_runs_per_principal", .maximum = "limits.queued_runs"});
    keep_below<std::uint32_t>(draft, {.value = "pool.ready", .maximum = "pool.most"});
    check_user_ids(draft);
    check_oauth(draft);
    check_tls(draft);
}

}  // namespace belljar::config
