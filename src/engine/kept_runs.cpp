#include "engine/kept_runs.h"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>
#include <vector>

#include "base/id.h"
#include "crypto/digest.h"
#include "engine/result_text.h"
#include "execution/error_wire.h"
#include "storage/run_book.h"

namespace belljar::engine {
namespace {

using Durability = DatabaseCalls::Durability;
using execution::RunPage;
using execution::RunRecord;
using execution::RunRequest;
using execution::RunResult;
using execution::RunState;
using execution::RunView;
using storage::SqliteDatabase;

constexpr std::size_t kRecordSize = 1024;  // roughly, of one without its result

execution::WallTime now() { return std::chrono::system_clock::now(); }

RunView view_of(const RunRequest& request, const std::string& code_sha256) {
    return {.execution_id = request.execution_id,
            .principal = request.principal,
            .conversation_id = request.conversation_id,
            .session_id = request.session_id,
            .language = request.language,
            .created = now(),
            .code_sha256 = code_sha256,
            .code_bytes = request.code.size(),
            .label = request.label,
            .trace = request.trace};
}

void describe(const RunResult& result, RunView& view) {
    view.status = result.status;
    view.exit_code = result.exit_code;
    view.language = result.language;
    view.usage = result.usage;
    view.output_bytes = result.stdout_stream.bytes + result.stderr_stream.bytes;
    view.denials = result.denials.size();
    view.grade = result.isolation.grade;
    if (result.session_id) {
        view.session_id = result.session_id;
    }
}

// Of what waits to be written.
std::size_t size_of(const RunResult& result) {
    std::size_t size = result.stdout_stream.text.size() + result.stderr_stream.text.size();
    for (const execution::Output& output : result.outputs) {
        for (const auto& [mime, content] : output.bundle) {
            size += content.size();
        }
    }
    return size + (result.result_json ? result.result_json->size() : 0);
}

std::unexpected<Error> no_such_run() { return fail(ErrorCode::NotFound, "there is no such run"); }

}  // namespace

// --- an observation

KeptRuns::Observation::Observation(KeptRuns& runs, RunView view, CancellationPtr cancellation)
    : runs_(runs), view_(std::move(view)), cancellation_(std::move(cancellation)) {
    view_.grade = runs.grade_;
}

RunWatch KeptRuns::Observation::join(RunWatch watch) {
    RunWatch joined = std::move(watch);
    joined.on_start = [self = shared_from_this(),
                       inner = std::move(joined.on_start)](const RunStart& begun) {
        self->start(begun);
        if (inner) {
            inner(begun);
        }
    };
    return joined;
}

void KeptRuns::Observation::start(const RunStart& begun) {
    view_.execution_id = begun.execution_id;
    view_.language = begun.language;
    view_.state = RunState::Running;
    view_.started = now();
    runs_.live_[view_.execution_id] = {.view = view_, .cancellation = cancellation_};
    runs_.write(view_, nullptr);
    runs_.state_.count({.principal = view_.principal, .runs = 1});
}

void KeptRuns::Observation::finish(const std::shared_ptr<const Result<RunResult>>& ended) {
    const Result<RunResult>& result = *ended;
    runs_.observed_.erase(this);
    if (view_.execution_id.empty()) {
        return;  // refused: there was no run
    }
    runs_.live_.erase(view_.execution_id);
    view_.state = RunState::Ended;
    view_.ended = now();
    if (!result) {
        view_.failure = execution::client_message(result.error());
        runs_.write(view_, nullptr);
        return;
    }
    describe(*result, view_);
    runs_.write(view_, std::shared_ptr<const RunResult>(ended, &*result));
    runs_.state_.count({.principal = view_.principal, .cpu = result->usage.cpu});
}

// --- runs

KeptRuns::KeptRuns(const asio::any_io_executor& executor, storage::StateDatabase& database,
                   KeptState& state, Execute execute, const Log& log)
    : calls_(executor, database),
      state_(state),
      execute_(std::move(execute)),
      tasks_(executor, log) {}

std::shared_ptr<KeptRuns::Observation> KeptRuns::observe(const RunRequest& request,
                                                         const std::string& code_sha256,
                                                         CancellationPtr cancellation) {
    auto observation =
        std::make_shared<Observation>(*this, view_of(request, code_sha256), cancellation);
    observed_[observation.get()] = {.principal = request.principal,
                                    .cancellation = std::move(cancellation)};
    return observation;
}

// The text of a result is made where nobody waits for it. The end of a short run takes the place of
// its start, which has not been written yet.
void KeptRuns::write(RunView view, std::shared_ptr<const RunResult> result) {
    const std::size_t size = kRecordSize + (result ? size_of(*result) : 0);
    std::string subject = "run " + view.execution_id;
    calls_.note(
        {.work =
             [view = std::move(view), result = std::move(result)](SqliteDatabase& database) {
                 RunRecord record{.view = view};
                 if (result) {
                     record.result = remembered_text(*result);
                 }
                 return storage::write_run(database, record);
             },
         .size = size,
         .subject = std::move(subject)});
}

Task<Result<RunPage>> KeptRuns::list(execution::RunQuery query) {
    DatabaseCalls::Work<RunPage> work = [query = std::move(query)](SqliteDatabase& database) {
        return storage::list_runs(database, query);
    };
    Result<RunPage> page = co_await calls_.ask<RunPage>(Durability::Soon, std::move(work));
    co_return page;
}

Task<Result<RunRecord>> KeptRuns::find(std::optional<std::string> principal,
                                       std::string execution_id) {
    DatabaseCalls::Work<RunRecord> work = [principal = std::move(principal),
                                           id = std::move(execution_id)](SqliteDatabase& database) {
        return storage::find_run(database, principal, id);
    };
    Result<RunRecord> record = co_await calls_.ask<RunRecord>(Durability::Soon, std::move(work));
    co_return record;
}

Task<Result<RunView>> KeptRuns::cancel(std::optional<std::string> principal,
                                       std::string execution_id) {
    const auto live = live_.find(execution_id);
    if (live != live_.end()) {
        if (principal && *principal != live->second.view.principal) {
            co_return no_such_run();
        }
        // The run may end at once and be gone from here.
        const Live found = live->second;
        found.cancellation->request();
        co_return found.view;
    }
    BJ_CO_TRY_VOID(co_await find(std::move(principal), std::move(execution_id)));
    co_return fail(ErrorCode::Conflict, "the run has ended already");
}

Task<Result<RunView>> KeptRuns::start(RunRequest request) {
    if (background_total_ >= bounds_.background) {
        co_return fail(ErrorCode::Overloaded, "too many runs go on in the background");
    }
    if (background_[request.principal] >= bounds_.background_each) {
        co_return fail(ErrorCode::QuotaReached,
                       "you have as many runs in the background as you may; wait for one of them");
    }
    request.execution_id = make_uuid();
    RunView view = view_of(request, crypto::sha256_hex(request.code));
    view.grade = grade_;
    const auto cancellation = std::make_shared<Cancellation>();
    const std::string principal = request.principal;
    ++background_total_;
    ++background_[principal];
    live_[view.execution_id] = {.view = view, .cancellation = cancellation};
    write(view, nullptr);
    if (!tasks_.spawn("run in the background",
                      run_in_background(std::move(request), cancellation))) {
        end_background(principal, view.execution_id, "the server is shutting down");
        co_return fail(ErrorCode::Unavailable, "the server is shutting down");
    }
    co_return view;
}

Task<void> KeptRuns::run_in_background(RunRequest request, CancellationPtr cancellation) {
    const std::string principal = request.principal;
    const std::string execution_id = request.execution_id;
    const Result<RunResult> result = co_await execute_(std::move(request), std::move(cancellation));
    co_await asio::post(calls_.executor(), asio::use_awaitable);  // its end is noted first
    end_background(principal, execution_id,
                   result ? "" : execution::client_message(result.error()));
}

// One that was refused before it was observed has not been recorded as ended.
void KeptRuns::end_background(const std::string& principal, const std::string& execution_id,
                              std::string failure) {
    --background_total_;
    if (--background_[principal] == 0) {
        background_.erase(principal);
    }
    const auto live = live_.find(execution_id);
    if (live == live_.end()) {
        return;
    }
    RunView view = live->second.view;
    live_.erase(live);
    view.state = RunState::Ended;
    view.ended = now();
    view.failure = std::move(failure);
    write(std::move(view), nullptr);
}

void KeptRuns::cancel_all_of(const std::string& principal) {
    std::vector<CancellationPtr> wishes;
    for (const auto& [observation, asked] : observed_) {
        if (asked.principal == principal) {
            wishes.push_back(asked.cancellation);
        }
    }
    for (const auto& [id, live] : live_) {
        if (live.view.principal == principal) {
            wishes.push_back(live.cancellation);
        }
    }
    for (const CancellationPtr& wish : wishes) {
        wish->request();
    }
}

void KeptRuns::close() {
    tasks_.close();
    std::vector<CancellationPtr> wishes;
    wishes.reserve(live_.size());
    for (const auto& [id, live] : live_) {
        wishes.push_back(live.cancellation);
    }
    for (const CancellationPtr& wish : wishes) {
        wish->request();
    }
}

}  // namespace belljar::engine
