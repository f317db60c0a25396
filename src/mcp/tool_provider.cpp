#include "mcp/tool_provider.h"

#include "mcp/approval.h"
#include "mcp/shipped_resources.h"

namespace belljar::mcp {

std::vector<ToolDefinition> ToolProvider::tools() const {
    std::vector<ToolDefinition> tools = toolbox_.list().tools;
    for (ToolDefinition& tool : tools) {
        if (tool.name == "execute_code" || tool.name == "execute_batch") {
            tool.tasks = TaskUse::WhenLong;
        }
        if (tool.name == "execute_code") {
            tool.meta["ui"] = run_view_meta();
        }
    }
    return tools;
}

std::uint64_t ToolProvider::tools_version() const {
    const TimePoint now = Clock::now();
    if (now < good_until_) {
        return version_;
    }
    good_until_ = now + look_again_;
    engine::SandboxInfo info = executor_.info();
    if (info != listed_) {
        listed_ = std::move(info);
        ++version_;
    }
    return version_;
}

bool ToolProvider::has_tool(std::string_view name) const {
    return Toolbox::need_of(name).has_value();
}

access::Rights ToolProvider::tool_needs(std::string_view name,
                                        const json::object& arguments) const {
    return Toolbox::rights_of(name, arguments);
}

Task<RpcResult<Round<ToolOutcome>>> ToolProvider::call_tool(ToolRequest request,
                                                            engine::CancellationPtr cancellation) {
    std::optional<std::string> approved_by;
    if (request.name == "execute_code") {
        Result<Round<Cleared>> cleared = co_await seek_approval(&executor_, &request);
        if (!cleared) {
            co_return ToolOutcome{.text = cleared.error().message, .failed = true};
        }
        if (InputNeeded* needed = std::get_if<InputNeeded>(&*cleared)) {
            co_return std::move(*needed);
        }
        approved_by = std::get<Cleared>(std::move(*cleared)).approved_by;
    }
    ToolCall call{.name = std::move(request.name),
                  .arguments = std::move(request.arguments),
                  .principal = std::move(request.asker.principal),
                  .approved_by = std::move(approved_by),
                  .trace = std::move(request.asker.trace),
                  .origin = std::move(request.asker.origin),
                  .wishes = std::move(request.asker.wishes),
                  .notify = std::move(request.asker.notify)};
    RpcResult<ToolOutcome> outcome =
        co_await toolbox_.call(std::move(call), std::move(cancellation));
    if (!outcome) {
        co_return std::unexpected(std::move(outcome.error()));
    }
    co_return std::move(*outcome);
}

}  // namespace belljar::mcp
