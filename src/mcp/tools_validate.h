#pragma once

#include "mcp/tool.h"

namespace belljar::mcp {

// The tool that reads a program without running it.
[[nodiscard]] ToolDefinition define_validate_code(const engine::SandboxInfo& info);

Task<Result<ToolOutcome>> validate_code(ToolContext context, ToolCall call,
                                        engine::CancellationPtr cancellation);

}  // namespace belljar::mcp
