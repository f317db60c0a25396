#pragma once

#include "mcp/tool.h"

namespace belljar::mcp {

// The tool for interpreters that stay.
[[nodiscard]] ToolDefinition define_manage_session(const engine::SandboxInfo& info);

Task<Result<ToolOutcome>> manage_session(ToolContext context, ToolCall call,
                                         engine::CancellationPtr cancellation);

}  // namespace belljar::mcp
