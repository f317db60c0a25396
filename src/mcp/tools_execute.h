#pragma once

#include "mcp/tool.h"

namespace belljar::mcp {

// The tools that run code.
[[nodiscard]] ToolDefinition define_execute_code(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_execute_batch(const engine::SandboxInfo& info);

Task<Result<ToolOutcome>> execute_code(ToolContext context, ToolCall call,
                                       engine::CancellationPtr cancellation);
Task<Result<ToolOutcome>> execute_batch(ToolContext context, ToolCall call,
                                        engine::CancellationPtr cancellation);

}  // namespace belljar::mcp
