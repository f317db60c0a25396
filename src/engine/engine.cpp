#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

#include "base/id.h"
#include "crypto/digest.h"
#include "engine/denial_events.h"
#include "engine/first_reading.h"
#include "engine/grade.h"
#include "engine/masking.h"
#include "jar/step.h"
#include "outcome/refused_calls.h"
#include "outcome/verdict.h"
#include "policy/file_use.h"
#include "runner/guest_protocol.h"
#include "runner/launch.h"

namespace belljar::engine {
namespace {

using execution::RawExit;
using execution::RunPlan;
using execution::RunRequest;
using execution::RunResult;

// Beyond a run's own deadline, which the warden enforces: time to build the jar and to clean up.
constexpr Duration kWardenGrace = std::chrono::seconds(30);
constexpr Duration kFilesGrace = std::chrono::seconds(30);  // to take files back

// Who asks a server that takes no runs may ask again after this.
constexpr auto kDrainPause = std::chrono::seconds(30);

// The other languages are tried so long after the start.
constexpr Duration kTrialsBegin = std::chrono::seconds(1);

SandboxInfo::Kind kind_of(const runner::Manifest& manifest, const runner::Manifest& jar_of,
                          const Engine::Options& options) {
    if (options.zygotes && !is_nested(options.isolation) && !manifest.preload.empty()) {
        return SandboxInfo::Kind::Zygote;
    }
    const bool pooled = options.pool.ready > 0 && jar_of.ready.value_or(1) > 0;
    return pooled ? SandboxInfo::Kind::Pool : SandboxInfo::Kind::Started;
}

// A disk is a sixth of what a jar costs. The environment may give a program names that are not in
// its text (bind_tools in the bootstrap).
isolation::Disk disk_for(const runner::Manifest& manifest, const RunRequest& request) {
    const bool stands_alone = request.files.empty() && request.environment.empty();
    const bool needs_none =
        manifest.runner == "cpython" && stands_alone && policy::uses_no_files(request.code);
    return needs_none ? isolation::Disk::None : isolation::Disk::Own;
}

// The program as a file of its workspace: a launcher's, or the one that a bootstrap writes for a
// program that asks for its own file.
ProgramFile program_file(const runner::Manifest& manifest, const RunRequest& request) {
    ProgramFile file{.sha256 = crypto::sha256_hex(request.code)};
    if (manifest.has_launcher()) {
        file.names = {manifest.file};
    } else if (manifest.runner == "cpython") {
        file.names = {"main.py"};
    } else {
        file.names = {"main.cjs", "main.mjs"};
    }
    return file;
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

void describe_plan(const RunPlan& plan, RunResult& result) {
    result.capped = plan.capped;
    result.limits = plan.limits;
    result.profile = plan.profile;
    result.policy_version = plan.policy_version;
    result.trace = plan.request.trace;
    result.debug = plan.request.debug;
}

// The guest does not run what may not run; should it ever, this ends it.
void await_reading(WardenLink& warden, LaunchedJar& jar, std::shared_ptr<FirstReading> reading,
                   std::string mark) {
    if (!reading) {
        return;
    }
    jar.io.on_reading([&warden, id = jar.id, reading = std::move(reading),
                       mark = std::move(mark)](std::string_view line) {
        if (!reading->take(line, mark)) {
            warden.kill(id, execution::KillReason::Cancelled);
        }
    });
}

void count_end(RunCounters& counters, const execution::RunAccount& account,
               const Result<RunResult>& result) {
    if (result) {
        counters.count(*result, account.protocol);
    } else {
        counters.count_refusal(result.error().code, account.protocol);
    }
}

void log_end(const Log& log, const execution::RunAccount& account,
             const Result<RunResult>& result) {
    const std::string trace = account.trace.value_or("");
    if (result) {
        log.info("run", {{"execution_id", result->execution_id},
                         {"principal", account.principal},
                         {"trace_id", trace},
                         {"language", result->language},
                         {"status", execution::name_of(result->status)},
                         {"wall_seconds", to_seconds(result->usage.wall)},
                         {"cpu_seconds", to_seconds(result->usage.cpu)}});
    } else {
        log.info("run refused", {{"principal", account.principal},
                                 {"trace_id", trace},
                                 {"code", name_of(result.error().code)},
                                 {"reason", result.error().describe()}});
    }
}

}  // namespace

Engine::Engine(const asio::any_io_executor& executor, WardenLink& warden, runner::Runners runners,
               Options options, const Log& log)
    : executor_(executor),
      warden_(warden),
      options_(std::move(options)),
      admission_(executor, options_.admission),
      pool_(executor, warden,
            {.bounds = options_.pool,
             .limits = options_.policy.defaults,
             .memory_limit = memory_limit_of(options_.isolation)},
            log),
      log_(log),
      tools_(executor, options_.tools, log),
      directory_(executor, options_.runners_path, runners, log),
      languages_(
          executor, Detection(options_.root),
          [this](LanguagePtr language) { return try_language(std::move(language)); }, log),
      tasks_(executor, log),
      languages_later_(executor),
      trial_over_(executor) {
    languages_.replace(std::move(runners));
    languages_.on_change([this] { prepare_usable(); });
    use(options_.rules ? options_.rules : own_rules(options_.policy));
    if (options_.conversations != nullptr) {
        conversations_.emplace(executor, *options_.conversations, log);
        conversations_->sign_with(options_.url_signer);
        conversations_->mask(masked_types(options_.privacy));
    }
    if (options_.state != nullptr) {
        state_.emplace(executor, *options_.state);
        runs_.emplace(
            executor, *options_.state, *state_,
            [this](RunRequest request, CancellationPtr cancellation) {
                return execute(std::move(request), std::move(cancellation), RunWatch{});
            },
            log);
        runs_->set_grade(options_.isolation.grade);
    }
    if (options_.sessions) {
        sessions_.emplace(
            executor, warden,
            [this](runner::ManifestPtr manifest, const RunPlan* plan,
                   CancellationPtr cancellation) {
                return launch_waiting(std::move(manifest), plan, std::move(cancellation));
            },
            Sessions::Options{.bounds = *options_.sessions,
                              .limits = options_.policy.defaults,
                              .isolation = options_.isolation,
                              .outputs = options_.outputs,
                              .record = options_.session_register},
            log);
        if (conversations_) {
            conversations_->spare([this] { return sessions_->conversations(); });
        }
    }
}

Task<Result<RunResult>> Engine::execute(RunRequest request, CancellationPtr cancellation,
                                        RunWatch watch) {
    BJ_CO_TRY_VOID(co_await await_trial());
    if (intake_ == Intake::Drained) {
        const Error refusal{.code = ErrorCode::Unavailable,
                            .message = "this server takes no more runs; others go on",
                            .retry_after = kDrainPause};
        co_return oversee(account_of(request), fail(refusal));
    }
    Result<RunResult> result = co_await execute_live(std::move(request), std::move(cancellation),
                                                     LiveStreams{.watch = std::move(watch)});
    co_return result;
}

Task<Result<RunResult>> Engine::execute_live(RunRequest request, CancellationPtr cancellation,
                                             LiveStreams live) {
    std::shared_ptr<RunFeed::Observation> observation = feed_.observe(request.principal);
    live.watch = observation->join(std::move(live.watch));
    const auto account = std::make_shared<const execution::RunAccount>(account_of(request));
    std::shared_ptr<KeptRuns::Observation> record;
    if (runs_) {
        record = runs_->observe(request, account->code_sha256, cancellation);
        live.watch = record->join(std::move(live.watch));
    }
    Result<RunResult> ended =
        co_await run(std::move(request), std::move(cancellation), std::move(live));
    Result<RunResult> result = oversee(*account, std::move(ended));
    // Behind the answer, which needs none of it, and ahead of whatever is asked next.
    asio::post(executor_,
               [this, account, observation = std::move(observation), record = std::move(record),
                ended = std::make_shared<const Result<RunResult>>(result)] {
                   observation->finish(*ended);
                   if (record) {
                       record->finish(ended);
                   }
                   count_end(counters_, *account, *ended);
                   log_end(log_, *account, *ended);
               });
    co_return result;
}

execution::RunAccount Engine::account_of(const RunRequest& request) const {
    execution::RunAccount account{.asked = std::chrono::system_clock::now(),
                                  .principal = request.principal,
                                  .language = request.language,
                                  .conversation_id = request.conversation_id,
                                  .session_id = request.session_id,
                                  .profile = request.profile,
                                  .approved_by = request.approved_by,
                                  .label = request.label,
                                  .trace = request.trace,
                                  .protocol = request.protocol,
                                  .tool = request.tool,
                                  .client = request.client,
                                  .address = request.address,
                                  .code_sha256 = crypto::sha256_hex(request.code),
                                  .code_bytes = request.code.size()};
    if (!account.approved_by) {
        account.approved_by = approvals_.approver_of(account.code_sha256, account.asked);
    }
    if (options_.recorded_code == config::AuditCode::Full) {
        account.code = std::make_shared<const std::string>(request.code);
    }
    return account;
}

Result<RunResult> Engine::oversee(const execution::RunAccount& account,
                                  Result<RunResult> result) const {
    for (Overseer* overseer : options_.overseers) {
        BJ_TRY_VOID(overseer->record(account, result));
    }
    return result;
}

void Engine::notice(const execution::SecurityEvent& event) const {
    for (Overseer* overseer : options_.overseers) {
        overseer->notice(event);
    }
}

// A cell's are told at its end: its jar lives on.
void Engine::watch_denials(isolation::JarId jar, const RunPlan& plan) {
    if (options_.overseers.empty()) {
        return;
    }
    warden_.on_denied(jar, [this, request = &plan.request,
                            id = plan.execution_id](const execution::DeniedCall& call) {
        for (const execution::Denial& denial : outcome::explain_refused_calls({call})) {
            notice(event_of(denial, {.principal = request->principal,
                                     .execution_id = id,
                                     .conversation_id = request->conversation_id}));
        }
    });
}

Task<void> Engine::end_run(std::string execution_id) {
    if (runs_) {
        [[maybe_unused]] const Result<execution::RunView> ended =
            co_await runs_->cancel(std::nullopt, std::move(execution_id));
    }
}

Task<void> Engine::end_all_of(std::string principal) {
    if (runs_) {
        runs_->cancel_all_of(principal);
    }
    for (const execution::SessionView& session : list_sessions(principal)) {
        [[maybe_unused]] const Result<execution::SessionView> ended =
            co_await obey({.principal = principal,
                           .session_id = session.session_id,
                           .action = execution::SessionAction::End});
    }
}

void Engine::guard_conversations(KeptConversations::Guard guard) {
    if (conversations_) {
        conversations_->guard_with(std::move(guard));
    }
}

Task<Result<RunResult>> Engine::run(RunRequest request, CancellationPtr cancellation,
                                    LiveStreams live) {
    const bool in_session = request.session || request.session_id;
    BJ_CO_TRY(Decision decision, co_await decide(std::move(request), Intent::Run));
    runner::ManifestPtr manifest = std::move(decision.manifest);
    RunPlan plan = std::move(decision.plan);
    if (runner::ManifestPtr suited = runner::suited(manifest, plan.request.code);
        zygotes_ && zygotes_->ready(*suited)) {
        manifest = std::move(suited);
    }
    BJ_CO_TRY(DailyQuota::Reservation reserved,
              quota_.reserve(plan.request.principal, limits_in_force(plan.request.principal),
                             state().used_today(plan.request.principal),
                             std::chrono::system_clock::now()));
    const auto reservation = std::make_shared<DailyQuota::Reservation>(std::move(reserved));
    if (plan.request.trace_parent) {
        plan.request.environment.emplace("TRACEPARENT", *plan.request.trace_parent);
    }
    const TimePoint asked = Clock::now();
    if (plan.request.conversation_id && conversations_) {
        // Before it has a place: who waits for another run keeps nobody else from running.
        BJ_CO_TRY(live.stay,
                  co_await conversations_->enter({.principal = plan.request.principal,
                                                  .conversation_id = *plan.request.conversation_id},
                                                 asked + options_.queue_time, cancellation));
    }
    BJ_CO_TRY(const Admission::Ticket ticket,
              co_await admission_.enter(plan.request.principal, asked + options_.queue_time,
                                        cancellation));
    const Duration waited = Clock::now() - asked;
    BJ_CO_TRY_VOID(admit(plan.request));  // who waited may have been blocked meanwhile
    plan.execution_id = plan.request.execution_id.empty() ? make_uuid() : plan.request.execution_id;
    if (live.watch.on_start) {
        const auto tell =
            [on_start = live.watch.on_start, reservation,
             start = RunStart{.execution_id = plan.execution_id, .language = manifest->language}] {
                on_start(start);
                reservation->end();
            };
        if (decision.reading) {
            decision.reading->on_pass(tell);
        } else {
            tell();
        }
    }
    live.reading = std::move(decision.reading);
    if (in_session) {
        Result<RunResult> cell =
            co_await sessions_->run(&plan, manifest, std::move(cancellation), std::move(live));
        if (cell) {
            cell->runner = manifest->runner;
            cell->timing.admission = waited;
        }
        co_return cell;
    }
    Result<RunResult> result = co_await (
        live.stay
            ? run_with_files(std::move(plan), manifest, std::move(cancellation), std::move(live))
            : run_in_jar(std::move(plan), manifest, std::move(cancellation), std::move(live)));
    if (result) {
        result->timing.admission = waited;
    }
    co_return result;
}

Task<Result<RunResult>> Engine::run_in_jar(RunPlan plan, runner::ManifestPtr manifest,
                                           CancellationPtr cancellation, LiveStreams live) {
    const runner::ManifestPtr jar_of = languages_.runners().jar_of(manifest);
    BJ_CO_TRY(const approved::PackPtr tools, tools_for(plan));
    co_await pool_.await_one(jar_of.get(), plan.limits, tools);
    if (std::optional<LaunchedJar> ready = pool_.take(*jar_of, plan.limits, Begin::AtOnce, tools)) {
        co_await warden_.until_sent();
        Result<RunResult> result = co_await run_once(&plan, manifest.get(), std::move(*ready),
                                                     std::move(cancellation), std::move(live));
        co_return result;
    }
    if (const std::uint32_t zygote = zygotes_ ? zygotes_->take(*manifest) : 0; zygote != 0) {
        BJ_CO_TRY(LaunchedJar forked, launch_jar(executor_, warden_, *manifest, plan.limits,
                                                 {.zygote = zygote,
                                                  .tools = tools,
                                                  .disk = disk_for(*manifest, plan.request)}));
        Result<RunResult> result =
            co_await run_once(&plan, manifest.get(), std::move(forked), cancellation,
                              {.watch = live.watch, .reading = live.reading});
        const bool refused = !result && result.error().code == ErrorCode::Denied;
        if (result || refused || cancellation->requested()) {
            co_return result;
        }
        // It may have died in between; nothing of the program has run.
        log_.warning("a guest could not be forked", {{"reason", result.error().describe()}});
    }
    BJ_CO_TRY(LaunchedJar jar,
              launch_jar(executor_, warden_, *manifest, plan.limits, {.tools = tools}));
    Result<RunResult> result = co_await run_once(&plan, manifest.get(), std::move(jar),
                                                 std::move(cancellation), std::move(live));
    co_return result;
}

// The program and its clock wait until the files are there.
Task<Result<RunResult>> Engine::run_with_files(RunPlan plan, runner::ManifestPtr manifest,
                                               CancellationPtr cancellation, LiveStreams live) {
    BJ_CO_TRY(LaunchedJar jar, co_await launch_waiting(manifest, &plan, cancellation));
    Result<void> given = co_await live.stay->give(jar.files);
    if (given && cancellation->requested()) {
        given = fail(ErrorCode::Cancelled, "cancelled before it started");
    }
    if (given) {
        given = warden_.start(jar.id, plan.limits, Files::Kept);
    }
    if (!given) {
        warden_.kill(jar.id, execution::KillReason::Cancelled);
        [[maybe_unused]] const Result<RawExit> exit =
            co_await warden_.wait(jar.id, Clock::now() + kWardenGrace);
        co_return fail(given.error());
    }
    co_await warden_.until_sent();
    Result<RunResult> result = co_await run_once(&plan, manifest.get(), std::move(jar),
                                                 std::move(cancellation), std::move(live));
    co_return result;
}

Conversations& Engine::conversations() {
    return conversations_ ? *conversations_ : Executor::conversations();
}

Runs& Engine::runs() { return runs_ ? *runs_ : Executor::runs(); }

State& Engine::state() { return state_ ? *state_ : Executor::state(); }

void Engine::remember_usage(const std::vector<execution::DailyUsage>& today) {
    if (state_) {
        state_->remember(today);
    }
}

Task<Result<LaunchedJar>> Engine::launch_waiting(runner::ManifestPtr manifest, const RunPlan* plan,
                                                 CancellationPtr cancellation) {
    const execution::Limits limits = plan->limits;
    const runner::ManifestPtr jar_of = languages_.runners().jar_of(manifest);
    BJ_CO_TRY(const approved::PackPtr tools, tools_for(*plan));
    co_await pool_.await_one(jar_of.get(), limits, tools);
    if (std::optional<LaunchedJar> ready = pool_.take(*jar_of, limits, Begin::WhenTold, tools)) {
        co_return std::move(*ready);
    }
    std::uint32_t zygote = zygotes_ ? zygotes_->take(*manifest) : 0;
    while (true) {
        BJ_CO_TRY(LaunchedJar jar,
                  launch_jar(executor_, warden_, *manifest, limits,
                             {.begin = Begin::WhenTold, .zygote = zygote, .tools = tools}));
        cancellation->on_request(
            [this, id = jar.id] { warden_.kill(id, execution::KillReason::Cancelled); });
        const bool waits = co_await jar.io.await_sign();
        cancellation->on_request(nullptr);
        if (waits && !cancellation->requested()) {
            co_return jar;
        }
        warden_.kill(jar.id, execution::KillReason::Cancelled);
        [[maybe_unused]] const Result<RawExit> exit =
            co_await warden_.wait(jar.id, Clock::now() + kWardenGrace);
        if (cancellation->requested()) {
            co_return fail(ErrorCode::Cancelled, "cancelled before it started");
        }
        if (std::exchange(zygote, 0) == 0) {
            co_return fail(ErrorCode::Unavailable, "an interpreter could not be started");
        }
        // It may have died in between; one that is started does not depend on it.
    }
}

Task<Result<execution::SessionView>> Engine::obey(execution::SessionOrder order) {
    if (!sessions_) {
        co_return fail(ErrorCode::Unsupported, "sessions are not kept here");
    }
    Result<execution::SessionView> view = co_await sessions_->obey(std::move(order));
    co_return view;
}

std::vector<execution::SessionView> Engine::list_sessions(const std::string& principal) const {
    return sessions_ ? sessions_->list(principal) : std::vector<execution::SessionView>{};
}

std::vector<execution::SessionView> Engine::list_all_sessions() const {
    return sessions_ ? sessions_->list_all() : std::vector<execution::SessionView>{};
}

void Engine::set_intake(Intake intake) {
    if (std::exchange(intake_, intake) != intake) {
        log_.info(intake == Intake::Open ? "runs are taken again" : "no more runs are taken");
    }
}

void Engine::ask(Principals& principals) {
    principals_ = &principals;
    admission_.share_by([this](const std::string& principal) {
        Admission::Share share =
            principals_->callers() == Callers::Several
                ? options_.share
                : Admission::Share{.running = Admission::kNoBound, .waiting = Admission::kNoBound};
        if (const auto own = principals_->limits_of(principal).concurrent_runs) {
            share.running = *own == 0 ? Admission::kNoBound : *own;
        }
        return share;
    });
}

execution::PrincipalLimits Engine::limits_in_force(const std::string& principal) {
    execution::PrincipalLimits limits =
        principals_ != nullptr ? principals_->limits_of(principal) : execution::PrincipalLimits{};
    const execution::PrincipalLimits& usual = options_.allowance;
    const auto complete = [](auto& value, const auto& otherwise) {
        value = value ? value : otherwise;
    };
    complete(limits.requests_per_minute, usual.requests_per_minute);
    complete(limits.concurrent_runs, usual.concurrent_runs);
    complete(limits.runs_per_day, usual.runs_per_day);
    complete(limits.cpu_seconds_per_day, usual.cpu_seconds_per_day);
    complete(limits.storage_bytes, usual.storage_bytes);
    return limits;
}

Task<Result<RunResult>> Engine::run_once(const RunPlan* plan, const runner::Manifest* manifest,
                                         LaunchedJar jar, CancellationPtr cancellation,
                                         LiveStreams live) {
    using asio::experimental::awaitable_operators::operator&&;
    const std::string execution_id = plan->execution_id;
    const TimePoint begun = Clock::now();
    GuestIo& io = jar.io;
    if (options_.outputs.store != nullptr) {
        io.keep_in(options_.outputs.store->record({execution_id, plan->request.principal},
                                                  plan->limits.output_file));
    }
    const privacy::TypeSet masked = masked_types(plan->privacy);
    if (masked.any()) {
        io.mask(masked);
    }
    cancellation->on_request(
        [this, id = jar.id] { warden_.kill(id, execution::KillReason::Cancelled); });
    watch_denials(jar.id, *plan);
    io.on_flood([this, id = jar.id] { warden_.kill(id, execution::KillReason::Output); });
    const Duration grace = live.stay ? kWardenGrace + kFilesGrace : kWardenGrace;
    const TimePoint give_up = begun + plan->limits.timeout + grace;
    const std::string mark = make_uuid();
    const std::shared_ptr<FirstReading> reading = live.reading;
    await_reading(warden_, jar, reading, mark);
    GuestInput input{.request = runner::encode_request(*manifest, plan->request, mark),
                     .stdin_text = plan->request.stdin_text};
    const StayPtr stay = live.stay;
    std::optional<ProgramFile> program;
    if (stay) {
        program = program_file(*manifest, plan->request);
    }
    Result<End> end = co_await (await_end(&jar, stay, std::move(program), give_up) &&
                                io.pump(std::move(input), std::move(live)));
    cancellation->on_request(nullptr);
    BJ_CO_TRY_VOID(end);
    const RawExit& exit = end->exit;
    if (reading) {
        notice_findings(*plan, reading->close());
        BJ_CO_TRY_VOID(reading->verdict(*plan));
    }

    const TimePoint collected = Clock::now();
    RunResult result{.execution_id = execution_id,
                     .language = manifest->language,
                     .runner = manifest->runner,
                     .stdout_stream = io.captured_stdout(),
                     .stderr_stream = io.captured_stderr(),
                     .full_output = publish_output(options_.outputs, io, execution_id, log_),
                     .isolation = options_.isolation};
    // What the launcher executes cannot write to the report, so that needs no mark.
    runner::apply_guest_report(
        {.text = io.report(), .mark = manifest->has_launcher() ? std::string_view() : mark},
        result);
    outcome::judge(exit, plan->limits, result);
    if (masked.any()) {
        result.masked = io.masked();
        mask_result(masked, result);
    }
    if (stay) {
        report_files(*stay, end->files, result);
    }
    result.timing = timing_of(begun, collected, jar, exit);
    describe_plan(*plan, result);
    result.tools_digest = digest_of(jar);
    result.findings = reading ? reading->findings() : plan->findings;
    result.network_attempts = exit.network;
    // Behind the answer: to close its pipes takes time, and wakes init, which others wait for.
    asio::post(executor_, [ended = std::move(jar)] {});
    co_return result;
}

// Whoever could write has ended before the warden says so.
Task<Result<Engine::End>> Engine::await_end(LaunchedJar* jar, StayPtr stay,
                                            std::optional<ProgramFile> program, TimePoint give_up) {
    using asio::experimental::awaitable_operators::operator&&;
    End end;
    if (!stay) {
        Result<RawExit> exit = co_await warden_.wait(jar->id, give_up);
        jar->io.finish();
        BJ_CO_TRY(end.exit, std::move(exit));
        co_return end;
    }
    auto [exit, files] = co_await (warden_.wait(jar->id, give_up) &&
                                   stay->take_at_end(jar->files, std::move(program), give_up));
    jar->io.finish();
    BJ_CO_TRY(end.exit, std::move(exit));
    end.files = std::move(files);
    co_return end;
}

SandboxInfo Engine::info() const {
    SandboxInfo info{.version = options_.version,
                     .default_limits = options_.policy.defaults,
                     .maximum_limits = options_.policy.maximum,
                     .isolation = options_.isolation,
                     .batch_parallel = options_.batch_parallel};
    add_profiles(info);
    for (const LanguagePtr& language : languages_.all()) {
        const runner::Manifest& manifest = *language->manifest;
        info.runners.push_back(
            {.language = manifest.language,
             .aliases = manifest.aliases,
             .version = language->version,
             .title = manifest.title,
             .runner = manifest.runner,
             .usable = language->usable(),
             .reason = language->reason,
             .kind = kind_of(manifest, *languages_.runners().jar_of(language->manifest), options_),
             .limits = policy::with_defaults(options_.policy, manifest.limits).defaults});
    }
    return info;
}

Task<SandboxInfo> Engine::survey() {
    [[maybe_unused]] const Result<void> tested = co_await await_trial();
    load_languages();
    co_await languages_.try_all();
    co_return info();
}

RunFigures Engine::figures() const {
    RunFigures figures = counters_.figures();
    figures.admission = admission_.figures();
    figures.pools = pool_.figures();
    figures.sessions = sessions_ ? sessions_->list_all().size() : 0;
    return figures;
}

void Engine::load_languages() {
    if (!std::exchange(loaded_, true)) {
        languages_.replace(directory_.read());
    }
}

// A service that makes jars ahead has time for more than the next run.
void Engine::serve_languages() {
    if (options_.pool.ready == 0 && !options_.zygotes) {
        return;
    }
    tasks_.spawn("try languages", try_languages());
    tasks_.spawn("watch runners", directory_.watch([this](runner::Runners runners) {
        languages_.replace(std::move(runners));
        prepare_usable();
        tasks_.spawn("try languages", languages_.try_all());
    }));
}

// Not while the first runs want their jars.
Task<void> Engine::try_languages() {
    boost::system::error_code stopped;
    languages_later_.expires_after(kTrialsBegin);
    co_await languages_later_.async_wait(asio::redirect_error(asio::use_awaitable, stopped));
    if (!stopped) {
        co_await languages_.try_all();
    }
}

void Engine::close() {
    tasks_.close();
    languages_later_.cancel();
    languages_.stop();
    directory_.stop();
    tools_.stop();
    pool_.close();
    if (zygotes_) {
        zygotes_->stop();
    }
    if (runs_) {
        runs_->close();
    }
    if (conversations_) {
        conversations_->stop_sweeping();
    }
    if (sessions_) {
        sessions_->close();
    }
}

void Engine::prepare_usable() {
    std::vector<runner::ManifestPtr> wanted;
    for (const LanguagePtr& language : languages_.all()) {
        const runner::ManifestPtr jar_of = languages_.runners().jar_of(language->manifest);
        if (language->state == Language::State::Usable &&
            std::ranges::find(wanted, jar_of) == wanted.end()) {
            wanted.push_back(jar_of);
            if (language->manifest->specialist) {
                wanted.push_back(language->manifest->specialist);
            }
        }
    }
    if (zygotes_) {
        zygotes_->serve(wanted);
    }
    if (trial_ == Trial::Passed) {
        pool_.serve(wanted);
    }
}

void Engine::start_zygotes() {
    if (!options_.zygotes || zygotes_ || is_nested(options_.isolation)) {
        return;
    }
    zygotes_.emplace(executor_, warden_, log_, *options_.zygotes,
                     [this](runner::ManifestPtr manifest, std::uint32_t zygote) {
                         return test_jar(std::move(manifest), zygote);
                     });
    pool_.fork_from(*zygotes_);
}

}  // namespace belljar::engine
