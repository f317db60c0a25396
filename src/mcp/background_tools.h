#pragma once

#include <vector>

#include "mcp/answer.h"
#include "mcp/background_runs.h"

namespace belljar::mcp {

// The three tools as clients see them. start_run takes what execute_code takes.
[[nodiscard]] std::vector<ToolDefinition> define_background_tools(
    const ToolDefinition& execute_code);

// A background run as its tools answer with it: the output behind the position while it goes on,
// the whole result once it has ended.
[[nodiscard]] ToolOutcome show_background_run(const BackgroundRun& run, std::uint64_t since);

}  // namespace belljar::mcp
