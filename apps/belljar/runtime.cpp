#include "runtime.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <thread>

#include "base/turns.h"
#include "config/choice.h"
#include "engine/grade.h"
#include "signal_watch.h"
#include "tool_source.h"

namespace belljar::apps {
namespace {

constexpr auto kTimeToEnd = std::chrono::seconds(15);

std::string mode_name(config::LaunchMode mode) {
    for (const auto& choice : config::choices_for(mode)) {
        if (choice.meaning == mode) {
            return std::string(choice.word);
        }
    }
    return "auto";
}

// Server and warden hold some ten descriptors for each jar, and the usual limit is a thousand. As
// many as this user may have; who cannot have more goes on with what there is.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

bool has_terminal() {
    const Fd terminal(::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY));
    return terminal.valid();
}

std::size_t batch_parallel(const config::LimitSettings& limits) {
    constexpr std::size_t kForEachCore = 2;
    return limits.batch_parallel > 0
               ? limits.batch_parallel
               : kForEachCore * std::max(std::thread::hardware_concurrency(), 1U);
}

engine::Admission::Share share_of_several(const config::LimitSettings& limits) {
    const engine::Admission::Bounds bounds = engine::bounds_from(limits, engine::Callers::Several);
    return {.running = bounds.running_each, .waiting = bounds.waiting_each};
}

execution::PrincipalLimits allowance_of(const config::LimitSettings& limits,
                                        const config::StorageSettings& storage) {
    return {.requests_per_minute = limits.requests_per_minute,
            .concurrent_runs = limits.concurrent_runs_per_principal,
            .runs_per_day = limits.runs_per_day,
            .cpu_seconds_per_day = limits.cpu_seconds_per_day,
            .storage_bytes = storage.principal_space.count};
}

policy::Rulebook::Grounds grounds_of(const config::Settings& settings) {
    return {.maximum = policy::policy_from(settings.limits).maximum, .settings = settings.policy};
}

constexpr std::size_t kLinesKept = 500;  // of the log

}  // namespace

engine::JarPool::Bounds pool_bounds(const config::PoolSettings& settings) {
    return {.ready = settings.ready,
            .most = settings.most,
            .idle = settings.idle,
            .memory = settings.memory};
}

std::optional<engine::Sessions::Bounds> session_bounds(const config::Settings& settings) {
    if (settings.sessions.most == 0) {
        return std::nullopt;
    }
    return engine::Sessions::Bounds{.idle = settings.sessions.idle,
                                    .most = settings.sessions.most,
                                    .most_each = settings.sessions.most_each,
                                    .checkpoints = settings.sessions.checkpoints,
                                    .patience = settings.limits.queue_time};
}

Result<std::unique_ptr<Runtime>> Runtime::create(const config::Settings& settings, LogLevel level,
                                                 ServiceParts parts) {
    ::signal(SIGPIPE, SIG_IGN);
    raise_descriptor_limit();
    ask_for_short_turns();
    BJ_TRY(runner::Runners runners, runner::Runners::create());
    if (settings.policy.data_science == config::Switch::Off) {
        runners.dismiss_specialists();
    }
    BJ_TRY(const std::vector<policy::PolicyText> files,
           engine::read_policy_files(settings.policy.path));
    BJ_TRY(engine::PolicyPlace::Rules rules, policy::Rulebook::create(grounds_of(settings), files));
    BJ_TRY(std::optional<approved::Source> tools, find_tools(settings.tools));
    Fd own_tools;
    if (tools && settings.tools.path.empty()) {
        BJ_TRY(own_tools, hold_open(*tools));
    }
    BJ_TRY(const std::string logs, find_logs(settings.tools));
    BJ_TRY(const std::string program, engine::find_warden());
    BJ_TRY(engine::WardenProcess warden,
           engine::start_warden({.program = program,
                                 .first_user_id = settings.isolation.uid_base,
                                 .user_id_count = settings.isolation.uid_count,
                                 .log_level = level,
                                 .mode = mode_name(settings.isolation.mode),
                                 .workspace = settings.limits.workspace,
                                 .root = settings.isolation.root,
                                 .logs = logs,
                                 .scratch = settings.isolation.scratch.empty()
                                                ? "/var/tmp"
                                                : settings.isolation.scratch}));
    parts.tools = std::move(tools);
    std::unique_ptr<Runtime> runtime(
        new Runtime(settings, level, std::move(warden), std::move(runners), std::move(parts)));
    runtime->own_tools_ = std::move(own_tools);
    runtime->policy_place_.begin_with(*rules);
    runtime->engine_->use(std::move(rules));
    BJ_TRY_VOID(engine::check_floor(runtime->isolation_, settings.isolation.require));
    if (runtime->warden_.mode == jar::Mode::Nested) {
        for (const auto& [key, value] : {std::pair("tools.path", settings.tools.path),
                                         std::pair("tools.logs_path", settings.tools.logs_path)}) {
            if (!value.empty()) {
                runtime->log_.warning(fmt::format(
                    "{} has no effect: without namespaces jars have no tree of their own", key));
            }
        }
    }
    return runtime;
}

Runtime::Runtime(const config::Settings& settings, LogLevel level, engine::WardenProcess warden,
                 runner::Runners runners, ServiceParts parts)
    : settings_(settings),
      log_("server", level, std::make_shared<LogTail>(kLinesKept)),
      io_(1),
      tasks_(io_.get_executor(), log_),
      signals_(io_),
      warden_(std::move(warden)),
      isolation_(engine::grade_of(warden_.layers, warden_.mode)),
      link_(std::make_unique<engine::WardenLink>(io_.get_executor(), std::move(warden_.socket),
                                                 log_)),
      engine_(std::make_unique<engine::Engine>(
          io_.get_executor(), *link_, std::move(runners),
          engine::Engine::Options{.version = BELLJAR_VERSION,
                                  .policy = policy::policy_from(settings.limits),
                                  .admission = engine::bounds_from(settings.limits, parts.callers),
                                  .queue_time = settings.limits.queue_time,
                                  .pool = parts.pool,
                                  .zygotes = parts.zygotes,
                                  .isolation = isolation_,
                                  .outputs = std::move(parts.outputs),
                                  .sessions = parts.sessions,
                                  .session_register = parts.session_register,
                                  .conversations = parts.conversations,
                                  .url_signer = parts.url_signer,
                                  .state = parts.state,
                                  .cleanup = parts.cleanup,
                                  .batch_parallel = batch_parallel(settings.limits),
                                  .share = share_of_several(settings.limits),
                                  .allowance = allowance_of(settings.limits, settings.storage),
                                  .recorded_code = settings.audit.code,
                                  .privacy = {.mask = settings.policy.mask},
                                  .tools = std::move(parts.tools),
                                  .root = settings.isolation.root,
                                  .runners_path = settings.runners.path},
          log_)),
      policy_place_(io_.get_executor(), settings.policy.path, grounds_of(settings)) {}

engine::PolicyPlace::Listener Runtime::policy_listener() {
    return {.changed =
                [this](engine::PolicyPlace::Rules rules) {
                    log_.info("the policy was read again", {{"version", rules->version()}});
                    engine_->notice({.kind = "policy",
                                     .name = "reloaded",
                                     .severity = execution::Severity::Low,
                                     .time = std::chrono::system_clock::now(),
                                     .text = "other rules are in force",
                                     .details = {{"version", rules->version()}}});
                    engine_->use(std::move(rules));
                },
            .refused =
                [this](std::string reason) {
                    log_.error("the policy is not valid; the one in force stays",
                               {{"reason", reason}});
                    engine_->refuse_rules(std::move(reason));
                }};
}

// By now no jar can be needed any more. Returns when nothing of the warden is left.
Runtime::~Runtime() {
    link_->close();
    if (const Result<void> ended = engine::wait_for_warden(warden_.keeper); !ended) {
        log_.error("the warden did not end well", {{"reason", ended.error().describe()}});
    }
}

Result<access::Account> Runtime::account() const {
    // Just below the ids that jars have.
    return access::find_account(settings_.server.user, settings_.isolation.uid_base - 1);
}

Result<void> Runtime::drop_privileges() {
    if (::geteuid() != 0) {
        return {};
    }
    BJ_TRY(const access::Account chosen, account());
    return access::drop_privileges(chosen);
}

Result<void> Runtime::run(Task<Result<void>> main_task, std::function<void()> on_stop) {
    std::optional<Result<void>> outcome;
    const auto stop_once = [on_stop, stopped = std::make_shared<bool>(false)] {
        if (!std::exchange(*stopped, true)) {
            on_stop();
        }
    };
    tasks_.spawn("warden link", link_->listen());
    tasks_.spawn("signals", watch_signals(stop_once));
    tasks_.spawn("watch policy", policy_place_.watch(policy_listener()));
    link_->on_loss([this, stop_once] {
        lost_warden_ = true;
        log_.error("the warden is gone; stopping");
        stop_once();
    });
    asio::co_spawn(
        io_, std::move(main_task),
        [this, &outcome](const std::exception_ptr& failure, Result<void> result) {
            outcome = failure ? Result<void>(fail(ErrorCode::Internal, "an unexpected exception"))
                              : std::move(result);
            let_everything_end();
        });
    while (!outcome) {
        io_.run_one();
    }
    io_.run_for(kTimeToEnd);
    if (!io_.stopped()) {
        // Destroying what still runs is not safe. The warden cleans up after us.
        log_.error("something did not end in time; leaving");
        std::_Exit(1);
    }
    return std::move(*outcome);
}

Result<void> Runtime::check_warden() const {
    if (lost_warden_) {
        return fail(ErrorCode::Unavailable, "the warden ended unexpectedly; start belljar again");
    }
    return {};
}

void Runtime::let_everything_end() {
    boost::system::error_code ignored;
    signals_.cancel(ignored);
    link_->on_loss(nullptr);
    policy_place_.stop();
    engine_->close();
    link_->close();
}

Task<std::optional<int>> Runtime::await_end_signal() {
    while (true) {
        boost::system::error_code error;
        const int number =
            co_await signals_.async_wait(asio::redirect_error(asio::use_awaitable, error));
        if (error) {
            co_return std::nullopt;
        }
        // At a terminal that is gone now, nobody is left to serve for.
        if (number != SIGHUP || !on_hang_up_ || (had_terminal_ && !has_terminal())) {
            co_return number;
        }
        on_hang_up_();
    }
}

Task<void> Runtime::watch_signals(std::function<void()> on_stop) {
    had_terminal_ = has_terminal();
    boost::system::error_code ignored;
    for (const int number : kEndSignals) {
        signals_.add(number, ignored);
    }
    const std::optional<int> first = co_await await_end_signal();
    if (!first) {
        co_return;
    }
    on_stop();
    const std::optional<int> second = co_await await_end_signal();
    if (second) {
        std::_Exit(1);  // the warden sees the end of the socket and cleans up
    }
}

}  // namespace belljar::apps
