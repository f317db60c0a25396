#pragma once

#include <span>
#include <string_view>

#include "mcp/tool.h"

namespace belljar::mcp {

// Every tool there is, in the order in which they are listed.
[[nodiscard]] std::span<const Tool> all_tools();

// nullptr if there is none.
[[nodiscard]] const Tool* find_tool(std::string_view name);

}  // namespace belljar::mcp
