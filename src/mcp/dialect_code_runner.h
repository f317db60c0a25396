#pragma once

#include "mcp/tool.h"

namespace belljar::mcp {

// The tools of a service with a container for each language, in its older and its newer words.
[[nodiscard]] ToolDefinition define_sandbox_run_code(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_run_code(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_sandbox_list_runners(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_list_runners(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_upload_file(const engine::SandboxInfo& info);

Task<Result<ToolOutcome>> sandbox_run_code(ToolContext context, ToolCall call,
                                           engine::CancellationPtr cancellation);
Task<Result<ToolOutcome>> run_code(ToolContext context, ToolCall call,
                                   engine::CancellationPtr cancellation);
Task<Result<ToolOutcome>> list_runners(ToolContext context, ToolCall call,
                                       engine::CancellationPtr cancellation);
Task<Result<ToolOutcome>> upload_file(ToolContext context, ToolCall call,
                                      engine::CancellationPtr cancellation);

}  // namespace belljar::mcp
