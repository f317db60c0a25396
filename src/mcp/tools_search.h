#pragma once

#include "mcp/tool.h"

namespace belljar::mcp {

// The tool that finds tools.
[[nodiscard]] ToolDefinition define_search_tools(const engine::SandboxInfo& info);

Task<Result<ToolOutcome>> search_tools(ToolContext context, ToolCall call,
                                       engine::CancellationPtr cancellation);

}  // namespace belljar::mcp
