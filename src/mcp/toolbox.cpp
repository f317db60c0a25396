#include "mcp/toolbox.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "execution/error_wire.h"
#include "mcp/argument_check.h"
#include "mcp/quote.h"
#include "mcp/tool_arguments.h"
#include "mcp/tool_table.h"

namespace belljar::mcp {
namespace {

bool is_own_fault(ErrorCode code) {
    return code == ErrorCode::Internal || code == ErrorCode::SystemCall;
}

bool is_cell(const json::object& run) {
    return is_true(run, "session") || is_given(run, "session_id");
}

// Whether a program, or one of a batch, is to run in a session.
bool asks_for_cells(const json::object& arguments) {
    const json::value* runs = arguments.if_contains("runs");
    return is_cell(arguments) ||
           (runs != nullptr && runs->is_array() &&
            std::ranges::any_of(runs->get_array(), [](const json::value& run) {
                return run.is_object() && is_cell(run.get_object());
            }));
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

}  // namespace

bool Toolbox::lists(const Tool& tool) const {
    return tool.dialect == Dialect::Own ||
           std::ranges::find(dialects_, tool.dialect) != dialects_.end();
}

ToolList Toolbox::list() const {
    const engine::SandboxInfo info = executor_.info();
    ToolList list;
    for (const Tool& tool : all_tools()) {
        if (lists(tool)) {
            list.tools.push_back(tool.define(info));
        }
    }
    return list;
}

std::optional<Need> Toolbox::need_of(std::string_view name) {
    const Tool* tool = find_tool(name);
    return tool != nullptr ? std::optional(tool->need) : std::nullopt;
}

access::Rights Toolbox::rights_of(std::string_view name, const json::object& arguments) {
    using access::Right;
    switch (need_of(name).value_or(Need::Run)) {
        case Need::Run:
            return {Right::RunExec};
        case Need::RunOrCell:
            return asks_for_cells(arguments) ? access::Rights{Right::RunExec, Right::Sessions}
                                             : access::Rights{Right::RunExec};
        case Need::Inspect:
            return {};
        case Need::FilesRead:
            return {Right::FilesRead};
        case Need::FilesWrite:
            return {Right::FilesWrite};
        case Need::Sessions:
            return {Right::Sessions};
        case Need::Packages:
            return {Right::Packages};
    }
    return {Right::Admin};
}

RpcError Toolbox::unknown_tool(std::string_view name) const {
    std::vector<std::string_view> names;
    for (const Tool& tool : all_tools()) {
        if (lists(tool)) {
            names.push_back(tool.name);
        }
    }
    return {.code = RpcCode::InvalidParams,
            .message = fmt::format("There is no tool {}; the tools are {}.", quote(name),
                                   fmt::join(names, ", "))};
}

Task<RpcResult<ToolOutcome>> Toolbox::call(ToolCall call, engine::CancellationPtr cancellation) {
    const Tool* tool = find_tool(call.name);
    if (tool == nullptr) {
        co_return std::unexpected(unknown_tool(call.name));
    }
    if (tool->checked == Checked::BySchema) {
        const ToolDefinition definition = tool->define(executor_.info());
        if (Result<void> checked = check_arguments(call.arguments, definition.input_schema);
            !checked) {
            co_return to_answer(fail(std::move(checked.error())));
        }
    }
    Result<ToolOutcome> outcome =
        co_await tool->call({.executor = &executor_}, std::move(call), std::move(cancellation));
    co_return to_answer(std::move(outcome));
}

}  // namespace belljar::mcp
