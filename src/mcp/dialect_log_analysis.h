#pragma once

#include "mcp/tool.h"

namespace belljar::mcp {

// The tools of a service for log analysis: functions of approved modules, called in a jar.
[[nodiscard]] ToolDefinition define_log_store(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_privacy(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_workspace(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_get_workspace_info(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_skills(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_list_skills(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_run_skill(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_tool_discovery(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_list_available_tools(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_get_available_tools(const engine::SandboxInfo& info);

Task<Result<ToolOutcome>> call_module(ToolContext context, ToolCall call,
                                      engine::CancellationPtr cancellation);

// A module of the operator's own, which no tool of ours is for: its function of the same name, or
// main, or its first. NotFound if there is no such module for this caller.
Task<Result<ToolOutcome>> call_other_module(ToolContext context, ToolCall call,
                                            engine::CancellationPtr cancellation);

}  // namespace belljar::mcp
