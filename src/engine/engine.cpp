#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

#include "base/id.h"
#include "base/utf8.h"
#include "jar/step.h"
#include "outcome/verdict.h"
#include "runner/guest_protocol.h"

namespace belljar::engine {
namespace {

using execution::RawExit;
using execution::RunPlan;
using execution::RunRequest;
using execution::RunResult;

// Beyond a run's own deadline, which the warden enforces: time to build the jar and to clean up.
constexpr Duration kWardenGrace = std::chrono::seconds(30);

// The self-test gets at least this, however little programs get.
constexpr Duration kTrialTime = std::chrono::seconds(30);
constexpr Bytes kTrialMemory = mebibytes(256);

std::string failure_of_trial(const runner::Manifest& manifest, const RunResult& result) {
    constexpr std::size_t kShown = 500;
    if (result.error) {
        return fmt::format("the trial run of {} failed: {}", manifest.language,
                           make_valid_utf8(result.error->message.substr(0, kShown)));
    }
    return fmt::format("the trial run of {} ended with status {}: {}", manifest.language,
                       execution::name_of(result.status),
                       make_valid_utf8(result.stderr_stream.text.substr(0, kShown)));
}

// The jar was made, but its root has no such interpreter.
bool lacks_interpreter(const Error& error) {
    return error.sys_errno == ENOENT &&
           error.where == fmt::format("jar: {}", jar::name_of(jar::Step::Execute));
}

// Without a cgroup each process is limited as it starts.
JarPool::MemoryLimit memory_limit_of(const execution::Isolation& isolation) {
    const bool missing =
        std::ranges::find(isolation.missing, "memory_limit") != isolation.missing.end();
    return missing ? JarPool::MemoryLimit::Fixed : JarPool::MemoryLimit::Changeable;
}

// Beside what the warden measured stands what was left of the time from `begun` to `collected`.
execution::Timing timing_of(TimePoint begun, TimePoint collected, const LaunchedJar& jar,
                            const RawExit& exit) {
    const bool ready = jar.begin == Begin::WhenTold;
    const Duration to_sign = jar.io.signed_at() - (begun + exit.set_up);
    const Duration start = ready ? Duration{} : std::clamp(to_sign, Duration{}, exit.wall);
    return {.jar = exit.set_up,
            .guest_start = start,
            .run = exit.wall - start,
            .collect = std::max(collected - begun - exit.set_up - exit.wall, Duration{}),
            .record = Clock::now() - collected,
            .jar_ready = ready};
}

}  // namespace

Engine::Engine(const asio::any_io_executor& executor, WardenLink& warden, runner::Runners runners,
               Options options, const Log& log)
    : executor_(executor),
      warden_(warden),
      runners_(std::move(runners)),
      options_(std::move(options)),
      admission_(executor, options_.admission),
      pool_(executor, warden,
            {.bounds = options_.pool,
             .limits = options_.policy.defaults,
             .memory_limit = memory_limit_of(options_.isolation)},
            log),
      log_(log),
      trial_over_(executor) {}

Task<Result<RunResult>> Engine::execute(RunRequest request, CancellationPtr cancellation) {
    BJ_CO_TRY_VOID(co_await await_trial());
    Result<RunResult> result =
        co_await execute_live(std::move(request), std::move(cancellation), LiveStreams{});
    co_return result;
}

Task<Result<RunResult>> Engine::execute_live(RunRequest request, CancellationPtr cancellation,
                                             LiveStreams live) {
    Result<RunResult> result =
        co_await run(std::move(request), std::move(cancellation), std::move(live));
    if (result) {
        counters_.count(*result);
        log_.info("run", {{"execution_id", result->execution_id},
                          {"language", result->language},
                          {"status", execution::name_of(result->status)},
                          {"wall_seconds", to_seconds(result->usage.wall)},
                          {"cpu_seconds", to_seconds(result->usage.cpu)}});
    } else {
        counters_.count_refusal(result.error().code);
        log_.info("run refused",
                  {{"code", name_of(result.error().code)}, {"reason", result.error().describe()}});
    }
    co_return result;
}

Task<Result<RunResult>> Engine::run(RunRequest request, CancellationPtr cancellation,
                                    LiveStreams live) {
    const runner::Manifest* manifest = runners_.find(request.language);
    if (manifest == nullptr) {
        co_return fail(ErrorCode::Unsupported,
                       fmt::format("unknown language \"{}\"; usable here: {}",
                                   request.language.substr(0, 64), runners_.names()));
    }
    BJ_CO_TRY(RunPlan plan, policy::decide(options_.policy, std::move(request)));
    const TimePoint asked = Clock::now();
    BJ_CO_TRY(const Admission::Ticket ticket,
              co_await admission_.enter(plan.request.principal, asked + options_.queue_time,
                                        cancellation));
    const Duration waited = Clock::now() - asked;
    Result<RunResult> result =
        co_await run_in_jar(std::move(plan), manifest, std::move(cancellation), std::move(live));
    if (result) {
        result->timing.admission = waited;
    }
    co_return result;
}

Task<Result<RunResult>> Engine::run_in_jar(RunPlan plan, const runner::Manifest* manifest,
                                           CancellationPtr cancellation, LiveStreams live) {
    co_await pool_.await_one(manifest, plan.limits);
    if (std::optional<LaunchedJar> ready = pool_.take(*manifest, plan.limits)) {
        Result<RunResult> result = co_await run_once(&plan, manifest, std::move(*ready),
                                                     std::move(cancellation), std::move(live));
        co_return result;
    }
    if (const std::uint32_t zygote = zygotes_ ? zygotes_->take(*manifest) : 0; zygote != 0) {
        BJ_CO_TRY(LaunchedJar forked, launch_jar(executor_, warden_, *manifest, plan.limits,
                                                 {.begin = Begin::AtOnce, .zygote = zygote}));
        Result<RunResult> result = co_await run_once(&plan, manifest, std::move(forked),
                                                     cancellation, {.on_output = live.on_output});
        if (result || cancellation->requested()) {
            co_return result;
        }
        // It may have died in between; nothing of the program has run.
        log_.warning("a guest could not be forked", {{"reason", result.error().describe()}});
    }
    BJ_CO_TRY(LaunchedJar jar, launch_jar(executor_, warden_, *manifest, plan.limits, {}));
    Result<RunResult> result = co_await run_once(&plan, manifest, std::move(jar),
                                                 std::move(cancellation), std::move(live));
    co_return result;
}

Task<Result<RunResult>> Engine::run_once(const RunPlan* plan, const runner::Manifest* manifest,
                                         LaunchedJar jar, CancellationPtr cancellation,
                                         LiveStreams live) {
    using asio::experimental::awaitable_operators::operator&&;
    const std::string execution_id = make_uuid();
    const TimePoint begun = Clock::now();
    GuestIo& io = jar.io;
    if (options_.outputs.store != nullptr) {
        io.keep_in(options_.outputs.store->record(execution_id, plan->limits.output_file));
    }
    cancellation->on_request(
        [this, id = jar.id] { warden_.kill(id, execution::KillReason::Cancelled); });
    io.on_flood([this, id = jar.id] { warden_.kill(id, execution::KillReason::Output); });

    const TimePoint give_up = begun + plan->limits.timeout + kWardenGrace;
    GuestInput input{.request = runner::encode_guest_request(plan->request),
                     .stdin_text = plan->request.stdin_text};
    Result<RawExit> exit =
        co_await (await_end(&jar, give_up) && io.pump(std::move(input), std::move(live)));
    cancellation->on_request(nullptr);
    BJ_CO_TRY_VOID(exit);

    const TimePoint collected = Clock::now();
    RunResult result{.execution_id = execution_id,
                     .language = manifest->language,
                     .runner = manifest->runner,
                     .stdout_stream = io.captured_stdout(),
                     .stderr_stream = io.captured_stderr(),
                     .full_output = publish_output(io, execution_id),
                     .isolation = options_.isolation};
    runner::apply_guest_report(io.report(), result);
    outcome::judge(*exit, plan->limits, result);
    result.timing = timing_of(begun, collected, jar, *exit);
    result.debug = plan->request.debug;
    co_return result;
}

// Whoever could write has ended before the warden says so.
Task<Result<RawExit>> Engine::await_end(LaunchedJar* jar, TimePoint give_up) {
    Result<RawExit> exit = co_await warden_.wait(jar->id, give_up);
    jar->io.finish();
    co_return exit;
}

std::optional<std::string> Engine::publish_output(GuestIo& io, const std::string& execution_id) {
    storage::OutputRecording* recording = io.recording();
    if (recording == nullptr) {
        return std::nullopt;
    }
    const Result<bool> published = recording->publish();
    if (recording->fault() || !published) {
        const Error& error = published ? *recording->fault() : published.error();
        log_.warning("an output could not be kept",
                     {{"execution_id", execution_id}, {"reason", error.describe()}});
    }
    if (!published || !*published) {
        return std::nullopt;
    }
    return options_.outputs.uri_before + execution_id + options_.outputs.uri_after;
}

SandboxInfo Engine::info() const {
    SandboxInfo info{.version = options_.version,
                     .default_limits = options_.policy.defaults,
                     .maximum_limits = options_.policy.maximum,
                     .isolation = options_.isolation};
    for (const runner::Manifest& manifest : runners_.all()) {
        const auto version = versions_.find(manifest.language);
        info.runners.push_back({.language = manifest.language,
                                .aliases = manifest.aliases,
                                .version = version == versions_.end() ? "" : version->second});
    }
    return info;
}

RunFigures Engine::figures() const {
    RunFigures figures = counters_.figures();
    figures.admission = admission_.figures();
    figures.pools = pool_.figures();
    return figures;
}

Task<Result<void>> Engine::self_test() {
    Result<void> tested = co_await test_jars();
    trial_ = tested ? Trial::Passed : Trial::Failed;
    trial_over_.cancel();
    if (tested) {
        start_zygotes();
        pool_.open(runners_);
    }
    co_return tested;
}

void Engine::start_zygotes() {
    if (!options_.zygotes) {
        return;
    }
    zygotes_.emplace(executor_, warden_, log_, *options_.zygotes,
                     [this](const runner::Manifest* manifest, std::uint32_t zygote) {
                         return test_jar(manifest, zygote);
                     });
    zygotes_->start(runners_.all());
    pool_.fork_from(*zygotes_);
}

void Engine::require_self_test() {
    trial_ = Trial::Awaited;
    trial_over_.expires_after(kTrialTime + kWardenGrace);
}

Task<Result<void>> Engine::await_trial() {
    if (trial_ == Trial::Awaited) {
        boost::system::error_code ignored;
        co_await trial_over_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    if (trial_ == Trial::NotRequired || trial_ == Trial::Passed) {
        co_return Result<void>{};
    }
    co_return fail(ErrorCode::Unavailable, "jars have not passed their self-test here");
}

// Not by way of policy: what is tested are jars, and not what may be asked of them.
RunPlan Engine::plan_trial(const runner::Manifest& manifest) const {
    RunPlan plan{.request = {.code = manifest.self_test,
                             .language = manifest.language,
                             .arguments = options_.isolation.missing},
                 .limits = options_.policy.defaults};
    plan.limits.timeout = std::max(plan.limits.timeout, kTrialTime);
    plan.limits.memory = std::max(plan.limits.memory, kTrialMemory);
    plan.limits.cpu = std::max(plan.limits.cpu, 1.0);  // others wait for it
    return plan;
}

Task<Result<void>> Engine::test_jar(const runner::Manifest* manifest, std::uint32_t zygote) {
    const RunPlan plan = plan_trial(*manifest);
    BJ_CO_TRY(LaunchedJar jar, launch_jar(executor_, warden_, *manifest, plan.limits,
                                          {.begin = Begin::AtOnce, .zygote = zygote}));
    Result<RunResult> result = co_await run_once(&plan, manifest, std::move(jar),
                                                 std::make_shared<Cancellation>(), LiveStreams{});
    BJ_CO_TRY_VOID(result);
    if (!result->success() || result->result_repr.value_or("").size() < 2) {
        co_return fail(ErrorCode::Unavailable, failure_of_trial(*manifest, *result));
    }
    const std::string& shown = *result->result_repr;
    versions_[manifest->language] = shown.substr(1, shown.size() - 2);  // without the quotes
    co_return Result<void>{};
}

// Languages without an interpreter are left out, as long as there is another.
Task<Result<void>> Engine::test_jars() {
    std::vector<std::string> missing;
    for (const runner::Manifest& manifest : runners_.all()) {
        Result<void> tested = co_await test_jar(&manifest, 0);
        const bool is_last = missing.size() + 1 == runners_.all().size();
        if (!tested && (is_last || !lacks_interpreter(tested.error()))) {
            co_return tested;
        }
        if (!tested) {
            log_.warning("a language cannot be used: its interpreter is missing",
                         {{"language", manifest.language}, {"path", manifest.command.front()}});
            missing.push_back(manifest.language);
        }
    }
    for (const std::string& language : missing) {
        runners_.remove(language);
    }
    co_return Result<void>{};
}

}  // namespace belljar::engine
