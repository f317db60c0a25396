#include "engine/sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/id.h"
#include "base/utf8.h"
#include "engine/masking.h"
#include "outcome/verdict.h"
#include "runner/guest_protocol.h"

namespace belljar::engine {
namespace {

using execution::CellNews;
using execution::KillReason;
using execution::RawExit;
using execution::RunPlan;
using execution::RunResult;
using execution::SessionAction;
using execution::SessionOrder;
using execution::SessionView;
using runner::SessionKind;

// For what takes milliseconds, unless somebody in the jar is in the way.
constexpr auto kStopTime = std::chrono::seconds(2);
constexpr auto kWardenTime = std::chrono::seconds(30);
constexpr auto kOrderTime = std::chrono::seconds(15);
constexpr std::size_t kMostEnded = 1024;
constexpr std::size_t kShownNames = 1000;

constexpr std::string_view kGone =
    "there is no such session; start one with \"session\": true, or leave session_id out";

execution::Changes changes_in(const json::object& object, std::string_view key) {
    execution::Changes changes;
    const json::value* value = object.if_contains(key);
    if (value == nullptr || !value->is_object()) {
        return changes;
    }
    const auto read = [&](std::string_view kind, std::vector<std::string>& names) {
        const json::value* list = value->get_object().if_contains(kind);
        if (list == nullptr || !list->is_array()) {
            return;
        }
        for (const json::value& name : list->get_array()) {
            if (name.is_string() && names.size() < kShownNames) {
                names.emplace_back(name.get_string());
            }
        }
    };
    read("added", changes.added);
    read("changed", changes.changed);
    read("removed", changes.removed);
    return changes;
}

std::string why_lost(const RunResult& result) {
    return fmt::format("the session ended with a cell that took its sandbox along (status {})",
                       execution::name_of(result.status));
}

std::string rolled_back(const RunResult& result) {
    return fmt::format(
        "the cell ended before its end (status {}): variables are as they were "
        "before it; files and processes are not brought back",
        execution::name_of(result.status));
}

}  // namespace

Sessions::Turn::~Turn() {
    if (!host_) {
        return;
    }
    if (!host_->alive) {
        host_->jar.files.reset();  // nobody awaits them
    }
    if (!host_->alive || host_->waiting.empty()) {
        host_->busy = false;
        return;
    }
    asio::steady_timer* const next = host_->waiting.front();
    host_->waiting.pop_front();
    next->cancel();
}

Sessions::Sessions(const asio::any_io_executor& executor, WardenLink& warden, Launcher launcher,
                   Options options, const Log& log)
    : executor_(executor),
      warden_(warden),
      launcher_(std::move(launcher)),
      options_(std::move(options)),
      log_(log),
      tasks_(executor, log) {
    if (options_.record != nullptr) {
        for (const storage::SessionRegister::Entry& entry : options_.record->found()) {
            ended_[entry.session_id] = {.principal = entry.principal,
                                        .reason =
                                            "the session ended when the server restarted; "
                                            "its variables are gone"};
            ended_order_.push_back(entry.session_id);
        }
    }
}

Result<Sessions::SessionPtr> Sessions::find(const std::string& principal,
                                            const std::string& id) const {
    if (const auto found = sessions_.find(id);
        found != sessions_.end() && found->second->principal == principal) {
        return found->second;
    }
    if (const auto ended = ended_.find(id);
        ended != ended_.end() && ended->second.principal == principal) {
        return fail(ErrorCode::NotFound, ended->second.reason +
                                             "; start a new one with \"session\": true and run "
                                             "again what it needs");
    }
    return fail(ErrorCode::NotFound, std::string(kGone));
}

Sessions::SessionPtr Sessions::find_of_conversation(const execution::RunRequest& request) const {
    const auto fits = [&request](const auto& entry) {
        const Session& session = *entry.second;
        return session.conversation && session.conversation == request.conversation_id &&
               session.principal == request.principal &&
               (!request.language_given || session.language == request.language);
    };
    const auto found = std::ranges::find_if(sessions_, fits);
    return found == sessions_.end() ? nullptr : found->second;
}

Result<std::string> Sessions::language_of(const execution::RunRequest& request) const {
    if (request.session_id) {
        BJ_TRY(const SessionPtr session, find(request.principal, *request.session_id));
        return session->language;
    }
    const SessionPtr session = find_of_conversation(request);
    return session ? session->language : request.language;
}

Result<std::optional<std::string>> Sessions::conversation_of(
    const execution::RunRequest& request) const {
    if (!request.session_id) {
        return request.conversation_id;
    }
    BJ_TRY(const SessionPtr session, find(request.principal, *request.session_id));
    if (request.conversation_id && request.conversation_id != session->conversation) {
        return fail(ErrorCode::InvalidArgument,
                    "the session does not belong to this conversation; leave \"conversation_id\" "
                    "out, or name it when the session is started");
    }
    return session->conversation;
}

Result<void> Sessions::check_quota(const std::string& principal) const {
    const auto own = std::ranges::count_if(
        sessions_, [&](const auto& entry) { return entry.second->principal == principal; });
    if (static_cast<std::size_t>(own) >= options_.bounds.most_each) {
        return fail(ErrorCode::QuotaReached,
                    fmt::format("you have {} sessions, which is all that one caller may have; end "
                                "one first",
                                own));
    }
    if (sessions_.size() >= options_.bounds.most) {
        return fail(ErrorCode::Overloaded, "there are as many sessions as this server keeps");
    }
    return {};
}

Sessions::SessionPtr Sessions::add(HostPtr host, const std::string& principal,
                                   const std::string& language) {
    auto session = std::make_shared<Session>(executor_, make_uuid());
    session->principal = principal;
    session->language = language;
    session->host = std::move(host);
    ++session->host->sessions;
    sessions_[session->id] = session;
    if (options_.record != nullptr) {
        const Result<void> kept =
            options_.record->add({.session_id = session->id, .principal = principal});
        if (!kept) {
            log_.warning("a session could not be registered",
                         {{"reason", kept.error().describe()}});
        }
    }
    return session;
}

Task<Result<Sessions::SessionPtr>> Sessions::open(const RunPlan* plan, runner::ManifestPtr manifest,
                                                  CancellationPtr cancellation) {
    const execution::RunRequest& request = plan->request;
    if (manifest->session == SessionKind::None) {
        co_return fail(
            ErrorCode::Unsupported,
            fmt::format("there are no sessions in {}; leave \"session\" out", manifest->language));
    }
    BJ_CO_TRY_VOID(check_quota(request.principal));
    // Counted before the jar is made: who asks for many at once gets no more than others.
    BJ_CO_TRY(LaunchedJar jar, co_await launcher_(manifest, plan, cancellation));
    auto host = std::make_shared<Host>(executor_, std::move(jar));
    host->kind = manifest->session;
    host->memory = plan->limits.memory;
    Result<void> wanted = check_quota(request.principal);
    if (closing_) {
        wanted = fail(ErrorCode::Unavailable, "the server is stopping");
    } else if (cancellation->requested()) {  // nobody would know of it, and no cell begin its rest
        wanted = fail(ErrorCode::Cancelled, "the caller went away");
    }
    if (!wanted) {
        warden_.on_end(host->jar.id, [] {});
        warden_.kill(host->jar.id, KillReason::Cancelled);
        co_return fail(wanted.error());
    }
    host->jar.io.close_stdin();
    SessionPtr session = add(std::move(host), request.principal, manifest->language);
    session->conversation = request.conversation_id;
    co_return session;
}

Task<Result<Sessions::Turn>> Sessions::take_turn(HostPtr host, CancellationPtr cancellation) {
    bool has_turn = host->alive && !std::exchange(host->busy, true);
    if (host->alive && !has_turn) {
        asio::steady_timer wait(executor_, Clock::now() + options_.bounds.patience);
        host->waiting.push_back(&wait);
        cancellation->on_request([&wait] { wait.cancel(); });
        boost::system::error_code ignored;
        if (!cancellation->requested()) {  // or there is nobody left to end the wait
            co_await wait.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        }
        cancellation->on_request(nullptr);
        // Who is no longer in the list has been given the turn.
        has_turn = std::erase(host->waiting, &wait) == 0;
    }
    std::optional<Turn> turn;
    if (has_turn) {
        turn.emplace(host);
    }
    if (!host->alive) {
        co_return fail(ErrorCode::NotFound, std::string(kGone));
    }
    if (cancellation->requested()) {
        co_return fail(ErrorCode::Cancelled, "the caller went away");
    }
    if (!turn) {
        co_return fail(ErrorCode::Conflict,
                       "the session is busy with another cell; wait for it, or fork it");
    }
    co_return std::move(*turn);
}

void Sessions::close_to_all(Host& host) {
    host.alive = false;
    for (asio::steady_timer* waiting : host.waiting) {
        waiting->cancel();
    }
}

void Sessions::stop(const HostPtr& host, KillReason reason) {
    if (host->reason != KillReason::None) {
        return;
    }
    host->reason = reason;
    const isolation::JarId jar = host->jar.id;
    const bool from_inside =
        host->kind == SessionKind::Copies && host->jar.io.interject(runner::encode_stop());
    if (!from_inside) {
        warden_.kill(jar, reason);
        return;
    }
    host->clock.expires_after(kStopTime);
    host->clock.async_wait([this, jar, reason](const boost::system::error_code& ended) {
        if (!ended) {
            warden_.kill(jar, reason);
        }
    });
}

Task<Result<RunResult>> Sessions::run(const RunPlan* plan, runner::ManifestPtr manifest,
                                      CancellationPtr cancellation, LiveStreams live) {
    const execution::RunRequest& request = plan->request;
    SessionPtr session;
    if (request.session_id) {
        BJ_CO_TRY(session, find(request.principal, *request.session_id));
    } else {
        session = find_of_conversation(request);
    }
    if (!session) {
        BJ_CO_TRY(session, co_await open(plan, manifest, cancellation));
    }
    BJ_CO_TRY(const Turn turn, co_await take_turn(session->host, cancellation));
    BJ_CO_TRY_VOID(find(request.principal, session->id));  // its jar may be that of a fork by now
    if (live.stay) {
        BJ_CO_TRY_VOID(co_await bring_files(session, live.stay));
    }
    Result<RunResult> result =
        co_await run_cell(session, plan, std::move(cancellation), std::move(live));
    co_return result;
}

Task<Result<void>> Sessions::bring_files(SessionPtr session, StayPtr stay) {
    const HostPtr host = session->host;
    Result<void> given = co_await stay->give(host->jar.files);
    if (!given) {
        end(session, "the session ended: the files of its conversation could not be given to it");
        warden_.on_end(host->jar.id, [host] {});
    }
    co_return given;
}

Task<void> Sessions::take_files(HostPtr host, StayPtr stay, RunResult* result) {
    std::optional<TakenFiles> taken = std::exchange(host->files_at_end, std::nullopt);
    if (host->alive) {
        taken = co_await stay->take_now(host->jar.files);
        if (!taken || !taken->whole) {
            lose(host, "the session ended: its files could not be taken back");
            warden_.on_end(host->jar.id, [host] {});
            warden_.kill(host->jar.id, KillReason::Cancelled);
        }
    }
    report_files(*stay, taken, *result);
}

// Hands the cell over and waits for its end, within its limits. False if the guest did not answer.
Task<bool> Sessions::talk(SessionPtr session, const RunPlan* plan, runner::CellPlace place,
                          CancellationPtr cancellation, LiveStreams live) {
    const HostPtr host = session->host;
    GuestIo& io = host->jar.io;
    cancellation->on_request([this, host] { stop(host, KillReason::Cancelled); });
    io.on_flood([this, host] { stop(host, KillReason::Output); });
    host->clock.expires_after(plan->limits.timeout);
    host->clock.async_wait([this, host](const boost::system::error_code& ended) {
        if (!ended) {
            stop(host, KillReason::Deadline);
        }
    });
    const bool answered =
        co_await io.converse(runner::encode_cell(plan->request, place), std::move(live));
    host->clock.cancel();
    cancellation->on_request(nullptr);
    io.on_flood(nullptr);  // it holds the host, which holds it
    co_return answered;
}

Task<Result<RunResult>> Sessions::run_cell(SessionPtr session, const RunPlan* plan,
                                           CancellationPtr cancellation, LiveStreams live) {
    const HostPtr host = session->host;
    const std::string& execution_id = plan->execution_id;
    execution::Limits limits = plan->limits;
    host->memory = limits.memory = std::max(limits.memory, host->memory);
    host->reason = KillReason::None;
    host->running = session->id;
    GuestIo& io = host->jar.io;
    io.begin_cell(limits);
    if (options_.outputs.store != nullptr) {
        io.keep_in(options_.outputs.store->record({execution_id, plan->request.principal},
                                                  limits.output_file));
    }
    const privacy::TypeSet masked = masked_types(plan->privacy);
    if (masked.any()) {
        io.mask(masked);
    }
    warden_.on_end(host->jar.id, nullptr);
    session->expiry.cancel();
    const StayPtr stay = live.stay;
    host->stay = stay;
    BJ_CO_TRY_VOID(warden_.begin_cell(host->jar.id, limits, stay ? Files::Kept : Files::Dropped));
    co_await warden_.until_sent();
    const runner::CellPlace place{.branch = session->id,
                                  .cell = ++session->cells,
                                  .checkpoints = options_.bounds.checkpoints,
                                  .mark = make_uuid()};
    const TimePoint begun = Clock::now();
    const bool answered =
        co_await talk(session, plan, place, std::move(cancellation), std::move(live));
    host->running.clear();

    RunResult result{.execution_id = execution_id,
                     .conversation_id = session->conversation,
                     .session_id = session->id,
                     .language = session->language,
                     .stdout_stream = io.captured_stdout(),
                     .stderr_stream = io.captured_stderr(),
                     .full_output = publish_output(options_.outputs, io, execution_id, log_),
                     .capped = plan->capped,
                     .limits = plan->limits,
                     .isolation = options_.isolation,
                     .profile = plan->profile,
                     .policy_version = plan->policy_version,
                     .tools_digest = digest_of(host->jar),
                     .findings = plan->findings,
                     .trace = plan->request.trace,
                     .debug = plan->request.debug};
    Result<RawExit> exit = co_await (answered ? judge_cell(session, place, limits, &result)
                                              : judge_lost(host, place, limits, &result));
    host->stay.reset();
    BJ_CO_TRY_VOID(exit);
    if (masked.any()) {
        result.masked = io.masked();
        mask_result(masked, result);
    }
    result.network_attempts = exit->network;
    if (stay) {
        co_await take_files(host, stay, &result);
    }
    result.timing = {.run = exit->wall,
                     .collect = std::max(Clock::now() - begun - exit->wall, Duration{}),
                     .jar_ready = true};
    co_return result;
}

// The guest has answered: what became of the cell, in its words and in the kernel's.
Task<Result<RawExit>> Sessions::judge_cell(SessionPtr session, runner::CellPlace place,
                                           execution::Limits limits, RunResult* result) {
    const HostPtr host = session->host;
    Result<runner::CellAnswer> answer =
        runner::parse_cell_answer(host->jar.io.report(), place.cell);
    std::optional<RawExit> exit;
    if (answer) {
        exit = co_await warden_.look(host->jar.id, Clock::now() + kWardenTime);
    } else {
        log_.warning("a session broke its protocol", {{"reason", answer.error().describe()}});
    }
    if (!exit) {
        Result<RawExit> end = co_await judge_lost(host, place, limits, result);
        co_return end;
    }
    const bool stopped = host->reason != KillReason::None && !answer->kept;
    exit->kill_reason = stopped ? host->reason : KillReason::None;
    exit->exited = !stopped;
    exit->wait_status = answer->wait_status;
    runner::apply_guest_report({.text = answer->report, .mark = place.mark}, *result);
    outcome::judge(*exit, limits, *result);
    CellNews news{.cell = place.cell, .notes = std::move(answer->notes)};
    if (!answer->kept) {
        news.state = CellNews::State::RolledBack;
        news.notes.push_back(rolled_back(*result));
    }
    result->session = std::move(news);
    session->last_used = Clock::now();
    if (sessions_.contains(session->id)) {  // it may have been ended meanwhile
        rest(session);
    }
    watch_idle(host);
    co_return std::move(*exit);
}

// The jar has ended, or has to; with it all sessions in it.
Task<Result<RawExit>> Sessions::judge_lost(HostPtr host, runner::CellPlace place,
                                           execution::Limits limits, RunResult* result) {
    BJ_CO_TRY(RawExit end, co_await end_of(host));
    outcome::judge(end, limits, *result);
    const std::string reason = why_lost(*result);
    result->session =
        CellNews{.cell = place.cell, .state = CellNews::State::Lost, .notes = {reason}};
    lose(host, reason);
    co_return end;
}

Task<Result<RawExit>> Sessions::end_of(HostPtr host) {
    using asio::experimental::awaitable_operators::operator&&;
    const TimePoint give_up = Clock::now() + kWardenTime;
    warden_.kill(host->jar.id, host->reason);
    if (!host->stay) {
        Result<RawExit> exit = co_await warden_.wait(host->jar.id, give_up);
        co_return exit;
    }
    auto [exit, files] = co_await (warden_.wait(host->jar.id, give_up) &&
                                   host->stay->take_at_end(host->jar.files, std::nullopt, give_up));
    host->files_at_end = std::move(files);
    co_return std::move(exit);
}

void Sessions::watch_idle(const HostPtr& host) {
    warden_.on_end(host->jar.id,
                   [this, host] { lose(host, "the session's sandbox ended while nothing ran"); });
}

void Sessions::rest(const SessionPtr& session) {
    session->expiry.expires_after(options_.bounds.idle);
    session->expiry.async_wait([this, session](const boost::system::error_code& ended) {
        if (!ended) {
            end(session, fmt::format("the session ended after {:g} minutes without a cell",
                                     to_seconds(options_.bounds.idle) / 60));
        }
    });
}

void Sessions::forget(const std::string& id, std::string reason) {
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) {
        return;
    }
    found->second->expiry.cancel();
    --found->second->host->sessions;
    ended_[id] = {.principal = found->second->principal, .reason = std::move(reason)};
    ended_order_.push_back(id);
    if (ended_order_.size() > kMostEnded) {
        ended_.erase(ended_order_.front());
        ended_order_.pop_front();
    }
    sessions_.erase(found);
    if (options_.record != nullptr && !closing_) {
        options_.record->remove(id);
    }
}

void Sessions::lose(const HostPtr& host, const std::string& reason) {
    close_to_all(*host);
    std::vector<std::string> ids;
    for (const auto& [id, session] : sessions_) {
        if (session->host == host) {
            ids.push_back(id);
        }
    }
    for (const std::string& id : ids) {
        forget(id, reason);
    }
}

void Sessions::end(const SessionPtr& session, std::string reason) {
    const HostPtr host = session->host;
    forget(session->id, std::move(reason));
    if (host->sessions > 0) {
        tasks_.spawn("end of a session", end_branch(host, session->id));
        return;
    }
    close_to_all(*host);
    if (!host->busy) {            // or else who talks to it sees to its end
        host->jar.files.reset();  // nobody awaits them
        warden_.on_end(host->jar.id, [host] {});
    }
    warden_.kill(host->jar.id, KillReason::Cancelled);
}

Task<void> Sessions::end_branch(HostPtr host, std::string id) {
    Result<Turn> turn = co_await take_turn(host, std::make_shared<Cancellation>());
    if (turn) {
        const SessionOrder ending{.action = SessionAction::End};
        [[maybe_unused]] const Result<json::object> ended =
            co_await order(host, runner::encode_session_order(ending, id, ""));
    }
}

Task<Result<json::object>> Sessions::order(HostPtr host, std::string line) {
    execution::Limits limits = options_.limits;
    limits.timeout = kOrderTime;
    limits.memory = host->memory;
    GuestIo& io = host->jar.io;
    host->reason = KillReason::None;
    io.begin_cell(limits);
    warden_.on_end(host->jar.id, nullptr);
    BJ_CO_TRY_VOID(warden_.begin_cell(host->jar.id, limits));
    const bool answered = co_await io.converse(std::move(line), {});
    if (answered) {
        const std::optional<RawExit> seen =
            co_await warden_.look(host->jar.id, Clock::now() + kWardenTime);
        if (seen) {
            watch_idle(host);
            co_return runner::parse_session_answer(io.report());
        }
    }
    [[maybe_unused]] const Result<RawExit> exit = co_await end_of(host);
    lose(host, "the session's sandbox ended");
    co_return fail(ErrorCode::NotFound, "the session's sandbox has ended");
}

Task<Result<SessionView>> Sessions::obey(SessionOrder wanted) {
    BJ_CO_TRY(const SessionPtr session, find(wanted.principal, wanted.session_id));
    if (wanted.action == SessionAction::End) {
        SessionView shown = view(*session);
        if (session->host->running == session->id) {
            stop(session->host, KillReason::Cancelled);
        }
        end(session, "the session was ended by its owner");
        co_return shown;
    }
    if (session->host->kind != SessionKind::Copies) {
        co_return fail(ErrorCode::Unsupported,
                       fmt::format("a session in {} keeps one process and no copies of its state; "
                                   "only ending it is possible",
                                   session->language));
    }
    if (wanted.action == SessionAction::Fork) {
        BJ_CO_TRY_VOID(check_quota(wanted.principal));
    }
    const HostPtr host = session->host;
    BJ_CO_TRY(const Turn turn, co_await take_turn(host, std::make_shared<Cancellation>()));
    SessionPtr forked;
    if (wanted.action == SessionAction::Fork) {
        forked = add(host, session->principal, session->language);
        forked->cells = session->cells;
    }
    Result<json::object> answer = co_await order(
        host,
        runner::encode_session_order(wanted, session->id, forked ? forked->id : std::string()));
    if (!answer && forked) {
        forget(forked->id, "the session could not be forked");
    }
    BJ_CO_TRY_VOID(answer);
    session->last_used = Clock::now();
    rest(session);
    SessionView shown = view(forked ? *forked : *session);
    shown.busy = false;  // with anything but this
    if (forked) {
        rest(forked);
        shown.forked = session->id;
    }
    if (wanted.action == SessionAction::Diff) {
        shown.diff = {.variables = changes_in(*answer, "variables"),
                      .files = changes_in(*answer, "changed_files")};
    }
    co_return shown;
}

SessionView Sessions::view(const Session& session) const {
    const Duration idle = Clock::now() - session.last_used;
    return {.session_id = session.id,
            .principal = session.principal,
            .language = session.language,
            .conversation_id = session.conversation,
            .cells = session.cells,
            .busy = session.host->busy,
            .idle = idle,
            .expires = std::max(options_.bounds.idle - idle, Duration{}),
            .checkpoints = session.host->kind == SessionKind::Copies};
}

std::vector<SessionView> Sessions::list(const std::string& principal) const {
    std::vector<SessionView> views;
    for (const auto& [id, session] : sessions_) {
        if (session->principal == principal) {
            views.push_back(view(*session));
        }
    }
    return views;
}

std::vector<SessionView> Sessions::list_all() const {
    std::vector<SessionView> views;
    for (const auto& [id, session] : sessions_) {
        views.push_back(view(*session));
    }
    return views;
}

std::vector<execution::FileName> Sessions::conversations() const {
    std::vector<execution::FileName> names;
    for (const auto& [id, session] : sessions_) {
        if (session->conversation) {
            names.push_back(
                {.principal = session->principal, .conversation_id = *session->conversation});
        }
    }
    return names;
}

void Sessions::close() {
    closing_ = true;
    tasks_.close();
    for (const auto& [id, session] : sessions_) {
        session->expiry.cancel();
        session->host->clock.cancel();
    }
}

}  // namespace belljar::engine
