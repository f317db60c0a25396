#pragma once

#include <string_view>

#include "mcp/tool.h"

namespace belljar::mcp {

// execute_code and search_tools as a service for log analysis has them: a program may import the
// approved tools, which it finds by their names even without that, and harmless modules; its text
// says {"success", "output", "error", "truncated"}.
[[nodiscard]] ToolDefinition define_execute_for_logs(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_search_for_logs(const engine::SandboxInfo& info);

// What a client of an older gateway means by the name of a tool that we have as well.
[[nodiscard]] std::string_view name_for_logs(std::string_view tool);

Task<Result<ToolOutcome>> execute_for_logs(ToolContext context, ToolCall call,
                                           engine::CancellationPtr cancellation);

// A list of {"module", "name", "signature", "description"}.
Task<Result<ToolOutcome>> search_for_logs(ToolContext context, ToolCall call,
                                          engine::CancellationPtr cancellation);

}  // namespace belljar::mcp
