#pragma once

#include <string>

#include "base/json.h"

namespace belljar::mcp {

// On several lines, two spaces for each level, as people and models read it.
[[nodiscard]] std::string pretty(const json::value& value);

}  // namespace belljar::mcp
