#include "mcp/background_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/id.h"
#include "engine/run_arguments.h"
#include "execution/error_wire.h"
#include "mcp/background_tools.h"
#include "mcp/quote.h"
#include "mcp/tool.h"

namespace belljar::mcp {
namespace {

using engine::CancellationPtr;
using std::chrono::milliseconds;

constexpr std::size_t kIdBytes = 16;
// For a run that was told to end; the kernel needs a fraction of it.
constexpr std::chrono::seconds kTimeToEnd{5};

Result<std::string> read_id(const json::object& arguments) {
    const json::value* id = arguments.if_contains("run_id");
    const json::string* text = id != nullptr ? id->if_string() : nullptr;
    if (text == nullptr || text->empty()) {
        return fail(ErrorCode::InvalidArgument,
                    "run_id is needed: the string that start_run has given.");
    }
    return std::string(*text);
}

Result<void> refuse_others(const json::object& arguments, std::vector<std::string_view> known) {
    for (const json::key_value_pair& argument : arguments) {
        if (std::ranges::find(known, std::string_view(argument.key())) == known.end()) {
            return fail(ErrorCode::InvalidArgument,
                        fmt::format("There is no argument {} here.", quote(argument.key())));
        }
    }
    return {};
}

Result<milliseconds> read_wait(const json::object& arguments) {
    const json::value* given = arguments.if_contains("wait_seconds");
    if (given == nullptr) {
        return milliseconds(BackgroundRuns::kUsualWait);
    }
    boost::system::error_code error;
    const double seconds = given->to_number<double>(error);
    const double most = static_cast<double>(BackgroundRuns::kLongestWait.count());
    if (error || !(seconds >= 0) || seconds > most) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("wait_seconds must be a number from 0 to {:g}.", most));
    }
    constexpr double kMillisecondsPerSecond = 1000;
    return milliseconds(static_cast<std::int64_t>(seconds * kMillisecondsPerSecond));
}

Result<std::uint64_t> read_since(const json::object& arguments) {
    const json::value* given = arguments.if_contains("since");
    if (given == nullptr) {
        return 0;
    }
    boost::system::error_code error;
    const auto since = given->to_number<std::uint64_t>(error);
    if (error) {
        return fail(ErrorCode::InvalidArgument,
                    "since must be a whole number: the next of an earlier answer.");
    }
    return since;
}

std::size_t size_of(const Result<execution::RunResult>& ended) {
    if (!ended) {
        return ended.error().message.size();
    }
    std::size_t bytes = ended->stdout_stream.text.size() + ended->stderr_stream.text.size() +
                        ended->result_json.value_or("").size() +
                        ended->result_repr.value_or("").size();
    for (const execution::Output& output : ended->outputs) {
        for (const auto& [mime, data] : output.bundle) {
            bytes += data.size();
        }
    }
    return bytes;
}

engine::RunWatch watch_of(const BackgroundRunPtr& run) {
    return {.on_start =
                [run](const engine::RunStart& start) { run->execution_id = start.execution_id; },
            .on_output = [run](engine::OutputStream stream,
                               std::string_view bytes) { run->output.add(stream, bytes); }};
}

RpcResult<Round<ToolOutcome>> to_answer(Result<ToolOutcome> outcome) {
    if (outcome) {
        return std::move(*outcome);
    }
    const Error& error = outcome.error();
    return ToolOutcome{
        .text = execution::client_message(error), .failed = true, .retry_after = error.retry_after};
}

}  // namespace

std::vector<ToolDefinition> BackgroundRuns::tools() const {
    for (const ToolDefinition& tool : tools_.tools()) {
        if (tool.name == "execute_code") {
            return define_background_tools(tool);
        }
    }
    return {};
}

bool BackgroundRuns::has_tool(std::string_view name) const {
    return name == "start_run" || name == "poll_run" || name == "cancel_run";
}

access::Rights BackgroundRuns::tool_needs(std::string_view name,
                                          const json::object& arguments) const {
    return name == "start_run" ? tools_.tool_needs("execute_code", arguments)
                               : access::Rights{access::Right::RunExec};
}

Task<RpcResult<Round<ToolOutcome>>> BackgroundRuns::call_tool(ToolRequest request,
                                                              CancellationPtr cancellation) {
    make_room();
    if (request.name == "start_run") {
        co_return to_answer(start(std::move(request)));
    }
    if (request.name == "poll_run") {
        Result<ToolOutcome> polled = co_await poll(std::move(request), std::move(cancellation));
        co_return to_answer(std::move(polled));
    }
    Result<ToolOutcome> cancelled = co_await cancel(std::move(request), std::move(cancellation));
    co_return to_answer(std::move(cancelled));
}

Result<ToolOutcome> BackgroundRuns::start(ToolRequest request) {
    BJ_TRY(execution::RunRequest wanted, engine::parse_run_arguments(request.arguments));
    const std::string& principal = request.asker.principal;
    if (runs_.size() >= kMost || under_way(principal) >= kMostEach) {
        return fail({.code = ErrorCode::QuotaReached,
                     .message = "There are too many background runs under way; wait for some of "
                                "them with poll_run, or stop them with cancel_run.",
                     .retry_after = kUsualWait});
    }
    const auto run = std::make_shared<BackgroundRun>(BackgroundRun{
        .id = random_hex(kIdBytes), .principal = principal, .form = wanted.output_form});
    wanted.principal = principal;
    mark(wanted, request.asker.trace);
    wanted.tool = request.name;
    wanted.client = request.asker.origin.client;
    wanted.address = request.asker.origin.address;
    wanted.tool_sets = request.asker.origin.tool_sets;
    runs_.emplace(run->id, run);
    if (!running_.spawn("background run", carry_out(run, std::move(wanted)))) {
        remove(run);
        return fail(ErrorCode::Unavailable, "The server is stopping.");
    }
    return ToolOutcome{
        .text = fmt::format("Started as run_id {}. Call poll_run with it for the result.", run->id),
        .structured = json::object{{"run_id", run->id}, {"status", "running"}}};
}

Task<Result<ToolOutcome>> BackgroundRuns::poll(ToolRequest request, CancellationPtr cancellation) {
    BJ_CO_TRY_VOID(refuse_others(request.arguments, {"run_id", "wait_seconds", "since"}));
    BJ_CO_TRY(const milliseconds patience, read_wait(request.arguments));
    BJ_CO_TRY(const std::uint64_t since, read_since(request.arguments));
    BJ_CO_TRY(const BackgroundRunPtr run, find(request));
    co_await wait_for(run, patience, std::move(cancellation));
    co_return show_background_run(*run, since);
}

Task<Result<ToolOutcome>> BackgroundRuns::cancel(ToolRequest request,
                                                 CancellationPtr cancellation) {
    BJ_CO_TRY_VOID(refuse_others(request.arguments, {"run_id"}));
    BJ_CO_TRY(const BackgroundRunPtr run, find(request));
    const bool had_ended = run->ended.has_value();
    run->cancellation->request();
    co_await wait_for(run, kTimeToEnd, std::move(cancellation));
    ToolOutcome outcome = show_background_run(*run, 0);
    const bool stopped = !had_ended && run->ended && *run->ended &&
                         (*run->ended)->status == execution::Status::Cancelled;
    if (stopped) {
        outcome.failed = false;  // that is what was wanted
    }
    co_return outcome;
}

Task<void> BackgroundRuns::carry_out(BackgroundRunPtr run, execution::RunRequest request) {
    Result<execution::RunResult> ended =
        co_await executor_.execute(std::move(request), run->cancellation, watch_of(run));
    run->ended_at = std::chrono::steady_clock::now();
    run->bytes = size_of(ended);
    run->ended.emplace(std::move(ended));
    bytes_ += runs_.contains(run->id) ? run->bytes : 0;
    for (const std::shared_ptr<asio::steady_timer>& timer : run->waiting) {
        timer->cancel();
    }
    make_room();
}

Task<void> BackgroundRuns::wait_for(BackgroundRunPtr run, milliseconds patience,
                                    CancellationPtr cancellation) {
    if (run->ended || cancellation->requested()) {
        co_return;
    }
    const auto timer = std::make_shared<asio::steady_timer>(io_, patience);
    run->waiting.insert(timer);
    cancellation->on_request([timer] { timer->cancel(); });
    boost::system::error_code ignored;
    co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    cancellation->on_request(nullptr);
    run->waiting.erase(timer);
}

Result<BackgroundRunPtr> BackgroundRuns::find(const ToolRequest& request) {
    BJ_TRY(const std::string id, read_id(request.arguments));
    const auto found = runs_.find(id);
    if (found == runs_.end() || found->second->principal != request.asker.principal) {
        return fail(ErrorCode::NotFound,
                    fmt::format("There is no run {}: a run_id is valid for one hour, until the "
                                "server stops, and for whoever started the run. Start it again "
                                "with start_run.",
                                quote(id)));
    }
    return found->second;
}

std::size_t BackgroundRuns::under_way(const std::string& principal) const {
    return static_cast<std::size_t>(std::ranges::count_if(runs_, [&principal](const auto& entry) {
        return !entry.second->ended && entry.second->principal == principal;
    }));
}

// What has lived its time goes; one that still runs is ended. Then, if it is still too much, the
// ones that ended first.
void BackgroundRuns::make_room() {
    const auto now = std::chrono::steady_clock::now();
    std::vector<BackgroundRunPtr> ended;
    const auto runs = runs_;
    for (const auto& [id, run] : runs) {
        if (now - run->begun > kLifetime) {
            run->cancellation->request();
            remove(run);
        } else if (run->ended) {
            ended.push_back(run);
        }
    }
    std::ranges::sort(ended, {}, [](const BackgroundRunPtr& run) { return run->ended_at; });
    for (const BackgroundRunPtr& run : ended) {
        if (runs_.size() < kMost && bytes_ <= kMostBytes) {
            break;
        }
        remove(run);
    }
}

void BackgroundRuns::remove(const BackgroundRunPtr& run) {
    if (runs_.erase(run->id) > 0 && run->ended) {
        bytes_ -= run->bytes;
    }
}

void BackgroundRuns::stop() {
    running_.close();
    const auto runs = runs_;
    for (const auto& [id, run] : runs) {
        run->cancellation->request();
    }
}

Task<void> BackgroundRuns::wait_for_end(asio::steady_timer::time_point deadline) {
    co_await running_.wait(deadline);
}

}  // namespace belljar::mcp
