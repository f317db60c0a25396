#pragma once

#include "engine/executor.h"
#include "mcp/answer.h"

namespace belljar::mcp {

// The tools as clients see them. Languages and limits in the descriptions are this installation's.
[[nodiscard]] ToolDefinition define_execute_code(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_execute_batch(const engine::SandboxInfo& info);
[[nodiscard]] ToolDefinition define_manage_session();
[[nodiscard]] ToolDefinition define_get_sandbox_info();

}  // namespace belljar::mcp
