#pragma once

#include "mcp/tool.h"

namespace belljar::mcp {

// The tools for the files of a conversation.
[[nodiscard]] ToolDefinition define_list_files(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_read_file(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_write_file(const engine::SandboxInfo& info);

Task<Result<ToolOutcome>> list_files(ToolContext context, ToolCall call,
                                     engine::CancellationPtr cancellation);
Task<Result<ToolOutcome>> read_file(ToolContext context, ToolCall call,
                                    engine::CancellationPtr cancellation);
Task<Result<ToolOutcome>> write_file(ToolContext context, ToolCall call,
                                     engine::CancellationPtr cancellation);

}  // namespace belljar::mcp
