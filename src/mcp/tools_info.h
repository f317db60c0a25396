#pragma once

#include "mcp/tool.h"

namespace belljar::mcp {

// The tools that tell what is there.
[[nodiscard]] ToolDefinition define_get_sandbox_info(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_pip_install(const engine::SandboxInfo& info);

Task<Result<ToolOutcome>> get_sandbox_info(ToolContext context, ToolCall call,
                                           engine::CancellationPtr cancellation);
Task<Result<ToolOutcome>> pip_install(ToolContext context, ToolCall call,
                                      engine::CancellationPtr cancellation);

}  // namespace belljar::mcp
