#pragma once

#include <string>
#include <string_view>

namespace belljar::mcp {

// Hostile text inside a message of ours: in double quotes, valid UTF-8, no longer than a name has
// reason to be.
[[nodiscard]] std::string quote(std::string_view text);

}  // namespace belljar::mcp
