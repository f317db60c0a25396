#include "administration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/sysinfo.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <thread>

#include "api/admin_routes.h"
#include "api/audit_routes.h"
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
    transport::HttpRouter::Watch watch{
        .limiter = &limiter_, .counters = &counters_, .log = &runtime_.log()};
    if (recorder_ != nullptr) {
        watch.on_change = [this](const access::HttpRequest&) { return trail_->admit(); };
        watch.on_answer = [this](const transport::HttpRouter::Answered& answered) {
            tell(answered);
        };
    }
    return watch;
}

void Administration::record_with(engine::Recorder* recorder, audit::Trail* trail) {
    recorder_ = recorder;
    trail_ = trail;
    if (recorder == nullptr) {
        return;
    }
    reload_.watch([recorder](const std::optional<std::vector<std::string_view>>& changed) {
        recorder->decided({.kind = "configuration",
                           .what = "reload",
                           .outcome = changed ? "done" : "refused",
                           .text = changed
                                       ? fmt::format("changed: {}", fmt::join(*changed, ", "))
                                       : "the configuration is not valid; the one in force stays"});
    });
}

// What somebody has changed for others, and who was turned away.
void Administration::tell(const transport::HttpRouter::Answered& answered) {
    constexpr unsigned kUnknown = 401;
    constexpr unsigned kForbidden = 403;
    constexpr unsigned kTooOften = 429;
    constexpr unsigned kFirstRefusal = 400;
    constexpr unsigned kFirstFault = 500;
    const bool turned_away = answered.status == kUnknown || answered.status == kForbidden ||
                             answered.status == kTooOften;
    const bool asks_only = answered.method == "GET" || answered.method == "HEAD";
    const bool of_operators =
        answered.path.starts_with("/v1/admin/") || answered.path.starts_with("/v1/audit/");
    if (!turned_away && (asks_only || !of_operators)) {
        return;
    }
    const audit::Decision decision{.kind = turned_away ? "access" : "decision",
                                   .what = answered.operation,
                                   .target = answered.method + " " + answered.path,
                                   .outcome = answered.status < kFirstRefusal ? "done"
                                              : answered.status < kFirstFault ? "refused"
                                                                              : "failed",
                                   .status = static_cast<int>(answered.status),
                                   .principal = answered.principal,
                                   .client = answered.client,
                                   .address = answered.address};
    if (turned_away) {
        recorder_->refused(decision);
    } else {
        recorder_->decided(decision);
    }
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
    if (trail_ != nullptr) {
        routes.add(std::make_unique<api::AuditRoutes>(*trail_));
        routes.add_figures([this] { return api::audit_figures(*trail_); });
    }
    routes.add(std::make_unique<api::UpkeepRoutes>(api::UpkeepRoutes::Sources{
        .executor = &runtime_.engine(),
        .configuration = [this]() -> const config::Loaded& { return reload_.loaded(); },
        .host = host_facts,
        .requests = &counters_,
        .log = &runtime_.log(),
        .secrets = secrets_}));
}

}  // namespace belljar::apps
