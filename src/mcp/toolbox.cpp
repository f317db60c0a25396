#include "mcp/toolbox.h"

#include <fmt/format.h>

#include <array>
#include <boost/asio/this_coro.hpp>
#include <boost/json/array.hpp>

#include "base/utf8.h"
#include "engine/batch.h"
#include "engine/run_arguments.h"
#include "engine/runners_json.h"
#include "engine/session_arguments.h"
#include "execution/error_wire.h"
#include "mcp/output_content.h"
#include "mcp/quote.h"
#include "mcp/run_notices.h"
#include "mcp/text_view.h"
#include "mcp/tool_schemas.h"
#include "outcome/result_json.h"
#include "outcome/session_json.h"

namespace belljar::mcp {
namespace {

json::array language_list(const engine::SandboxInfo& info) {
    json::array languages;
    for (const engine::SandboxInfo::Runner& runner : info.runners) {
        if (!runner.usable) {
            continue;
        }
        languages.push_back({{"language", runner.language},
                             {"aliases", json::array(runner.aliases.begin(), runner.aliases.end())},
                             {"version", make_valid_utf8(runner.version)}});
    }
    return languages;
}

json::object describe(const engine::SandboxInfo& info) {
    json::array versions;
    for (const Revision revision : kRevisions) {
        versions.emplace_back(name_of(revision));
    }
    json::object limits;
    limits["default"] = outcome::to_json(info.default_limits);
    limits["maximum"] = outcome::to_json(info.maximum_limits);
    json::object description;
    description["version"] = info.version;
    description["languages"] = language_list(info);
    description["limits"] = std::move(limits);
    description["isolation"] = outcome::to_json(info.isolation);
    description["protocol_versions"] = std::move(versions);
    description["network"] = "none";
    return description;
}

Result<void> refuse_arguments(const ToolCall& call) {
    if (call.arguments.empty()) {
        return {};
    }
    return fail(ErrorCode::InvalidArgument,
                fmt::format("{} takes no arguments, but {} was given.", call.name,
                            quote(call.arguments.begin()->key())));
}

bool is_own_fault(ErrorCode code) {
    return code == ErrorCode::Internal || code == ErrorCode::SystemCall;
}

RpcResult<ToolOutcome> to_answer(Result<ToolOutcome> outcome) {
    if (outcome) {
        return std::move(*outcome);
    }
    const Error& error = outcome.error();
    std::string message = execution::client_message(error);
    if (is_own_fault(error.code)) {
        return rpc_fail(static_cast<RpcCode>(execution::json_rpc_code(error.code)),
                        std::move(message));
    }
    return ToolOutcome{
        .text = std::move(message), .failed = true, .retry_after = error.retry_after};
}

// Nothing if nobody wants to hear of it.
std::shared_ptr<RunNotices> make_notices(const asio::any_io_executor& io, const ToolCall& call) {
    return call.notify && call.wishes.any()
               ? std::make_shared<RunNotices>(io, call.wishes, call.notify)
               : nullptr;
}

}  // namespace

const Toolbox::Entry* Toolbox::find(std::string_view name) {
    // Tools of other dialects can always be called, and are listed to nobody.
    static constexpr std::array<Entry, 6> kTools{
        {{"execute_code", &Toolbox::execute_code},
         {"execute_batch", &Toolbox::execute_batch},
         {"manage_session", &Toolbox::manage_session},
         {"list_runners", &Toolbox::list_runners},
         {"sandbox.list_runners", &Toolbox::list_runners},
         {"get_sandbox_info", &Toolbox::get_sandbox_info}}};
    for (const Entry& tool : kTools) {
        if (tool.name == name) {
            return &tool;
        }
    }
    return nullptr;
}

ToolList Toolbox::list() const {
    const engine::SandboxInfo info = executor_.info();
    return {.tools = {define_execute_code(info), define_execute_batch(info),
                      define_manage_session(), define_get_sandbox_info()}};
}

Task<RpcResult<ToolOutcome>> Toolbox::call(ToolCall call, engine::CancellationPtr cancellation) {
    const Entry* tool = find(call.name);
    if (tool == nullptr) {
        co_return rpc_fail(
            RpcCode::InvalidParams,
            fmt::format("There is no tool {}; the tools are execute_code, execute_batch, "
                        "manage_session and "
                        "get_sandbox_info.",
                        quote(call.name)));
    }
    Result<ToolOutcome> outcome =
        co_await (this->*tool->function)(std::move(call), std::move(cancellation));
    co_return to_answer(std::move(outcome));
}

Task<Result<ToolOutcome>> Toolbox::execute_code(ToolCall call,
                                                engine::CancellationPtr cancellation) {
    BJ_CO_TRY(execution::RunRequest request, engine::parse_run_arguments(call.arguments));
    request.principal = std::move(call.principal);
    const execution::OutputForm form = request.output_form;
    const auto io = co_await asio::this_coro::executor;
    const std::shared_ptr<RunNotices> notices = make_notices(io, call);
    Result<execution::RunResult> ended =
        co_await executor_.execute(std::move(request), std::move(cancellation),
                                   notices ? notices->watch() : engine::RunWatch{});
    if (notices) {
        notices->finish();
    }
    BJ_CO_TRY(const execution::RunResult result, std::move(ended));
    co_return ToolOutcome{.text = text_view(result),
                          .more = content_of(result, form),
                          .structured = outcome::to_json(result),
                          .failed = !result.success()};
}

Task<Result<ToolOutcome>> Toolbox::manage_session(ToolCall call,
                                                  engine::CancellationPtr /*cancellation*/) {
    BJ_CO_TRY(std::optional<execution::SessionOrder> order,
              engine::parse_session_arguments(call.arguments));
    std::vector<execution::SessionView> views;
    if (order) {
        order->principal = std::move(call.principal);
        BJ_CO_TRY(views.emplace_back(), co_await executor_.obey(std::move(*order)));
    } else {
        views = executor_.list_sessions(call.principal);
    }
    json::array sessions;
    std::string text;
    for (const execution::SessionView& view : views) {
        json::object shown = outcome::to_json(view);
        text += to_text(shown) + "\n";
        sessions.push_back(std::move(shown));
    }
    co_return ToolOutcome{.text = text.empty() ? "There are no sessions." : text,
                          .structured = json::object{{"sessions", std::move(sessions)}}};
}

Task<Result<ToolOutcome>> Toolbox::execute_batch(ToolCall call,
                                                 engine::CancellationPtr cancellation) {
    BJ_CO_TRY(engine::Batch batch, engine::parse_batch_arguments(call.arguments));
    const auto io = co_await asio::this_coro::executor;
    const std::shared_ptr<RunNotices> notices = make_notices(io, call);
    std::function<void(std::size_t)> on_progress;
    if (notices) {
        on_progress = [notices, total = batch.runs.size()](std::size_t over) {
            notices->advance(over, total);
        };
    }
    const engine::BatchResult result =
        co_await engine::run_batch(&executor_, std::move(batch), std::move(call.principal),
                                   std::move(cancellation), std::move(on_progress));
    if (notices) {
        notices->finish();
    }
    co_return ToolOutcome{.text = text_view(result),
                          .structured = engine::to_json(result),
                          .failed = !engine::succeeded(result)};
}

Task<Result<ToolOutcome>> Toolbox::list_runners(ToolCall call,
                                                engine::CancellationPtr /*cancellation*/) {
    BJ_CO_TRY_VOID(refuse_arguments(call));
    const engine::SandboxInfo info = co_await executor_.survey();
    json::array languages = engine::runners_json(info);
    for (json::value& language : languages) {
        // In the words of a service that has an image for each language.
        language.get_object()["image"] = language.at("runner");
    }
    co_return ToolOutcome{.text = runners_view(info),
                          .structured = json::object{{"languages", std::move(languages)}}};
}

Task<Result<ToolOutcome>> Toolbox::get_sandbox_info(ToolCall call,
                                                    engine::CancellationPtr /*cancellation*/) {
    BJ_CO_TRY_VOID(refuse_arguments(call));
    const engine::SandboxInfo info = co_await executor_.survey();
    co_return ToolOutcome{.text = text_view(info), .structured = describe(info)};
}

}  // namespace belljar::mcp
