#pragma once

#include "mcp/tool.h"

namespace belljar::mcp {

// The tools of a service that runs Python for mcpo and Open WebUI.
[[nodiscard]] ToolDefinition define_execute_python(const engine::SandboxInfo& info);

Task<Result<ToolOutcome>> execute_python(ToolContext context, ToolCall call,
                                         engine::CancellationPtr cancellation);

}  // namespace belljar::mcp
