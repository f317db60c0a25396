#include "administration.h"

#include <sys/sysinfo.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <thread>

#include "api/admin_routes.h"
#include "api/token_routes.h"
#include "api/upkeep_routes.h"
#include "host/hardening.h"
#include "host/kernel.h"
#include "host/landlock.h"

namespace belljar::apps {
namespace {

access::RateLimiter::Rules rules_from(const config::LimitSettings& limits) {
    return {.each = {.per_minute = limits.requests_per_minute, .burst = limits.request_burst},
            .all = {.per_minute = limits.global_requests_per_minute,
                    .burst = limits.global_request_burst},
            .unknown = {.per_minute = limits.unknown_requests_per_minute}};
}

// What can be seen without privileges and without trying anything.
json::object host_facts() {
    const host::Kernel kernel = host::read_kernel();
    const host::Hardening hardening = host::read_hardening();
    struct sysinfo memory{};
    ::sysinfo(&memory);
    return {{"kernel", kernel.release},
            {"machine", kernel.machine},
            {"cpus", std::thread::hardware_concurrency()},
            {"memory_bytes", std::uint64_t{memory.totalram} * memory.mem_unit},
            {"uptime_seconds", memory.uptime},
            {"landlock_abi", host::probe_landlock().abi},
            {"swaps", hardening.swaps.size()},
            {"threads_share_cores", hardening.threads_share_cores},
            {"memory_is_merged", hardening.memory_is_merged}};
}

}  // namespace

Administration::Administration(Runtime& runtime, Reload& reload, const Fd& token_folder,
                               std::string token)
    : runtime_(runtime),
      reload_(reload),
      token_folder_(token_folder),
      limiter_(rules_from(reload.settings().limits)),
      secrets_(api::secrets_of(reload.settings())),
      store_book_(token_folder, runtime.log()) {
    if (!token.empty()) {
        secrets_.push_back(std::move(token));
    }
    reload_.on_change(
        {"limits.requests_per_minute", "limits.request_burst", "limits.global_requests_per_minute",
         "limits.global_request_burst", "limits.unknown_requests_per_minute"},
        [this](const config::Settings& settings) -> Result<void> {
            limiter_.set_rules(rules_from(settings.limits));
            return {};
        });
}

transport::HttpRouter::Watch Administration::watch() {
    return {.limiter = &limiter_, .counters = &counters_, .log = &runtime_.log()};
}

void Administration::limit(storage::ConversationStore& store) {
    store.set_space_of([this](const std::string& principal) -> std::optional<Bytes> {
        const std::lock_guard lock(store_mutex_);
        const std::optional<std::uint64_t> own = store_book_.limits_of(principal).storage_bytes;
        return own ? std::optional(Bytes{*own}) : std::nullopt;
    });
}

void Administration::attach(transport::HttpServer& http, api::Routes& routes,
                            storage::ConversationStore& store) {
    counters_.ask_connections([&http] { return http.connections(); });
    limit(store);
    routes.add(std::make_unique<api::AdminRoutes>(runtime_.engine()));
    routes.add(std::make_unique<api::TokenRoutes>(token_folder_));
    routes.add(std::make_unique<api::UpkeepRoutes>(api::UpkeepRoutes::Sources{
        .executor = &runtime_.engine(),
        .configuration = [this]() -> const config::Loaded& { return reload_.loaded(); },
        .host = host_facts,
        .requests = &counters_,
        .log = &runtime_.log(),
        .secrets = secrets_}));
}

}  // namespace belljar::apps
