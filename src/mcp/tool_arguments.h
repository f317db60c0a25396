#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

namespace belljar::mcp {

// Arguments that their schema has let through: what is given has its type, and only what was left
// out has to be filled in.

[[nodiscard]] bool is_given(const json::object& arguments, std::string_view name);

// Empty if it was left out.
[[nodiscard]] std::string text_of(const json::object& arguments, std::string_view name);

// The usual one, too, for a number that is none of these.
[[nodiscard]] std::uint64_t number_of(const json::object& arguments, std::string_view name,
                                      std::uint64_t usual);

// Neither, if it was left out.
[[nodiscard]] bool is_true(const json::object& arguments, std::string_view name);
[[nodiscard]] bool is_false(const json::object& arguments, std::string_view name);

}  // namespace belljar::mcp
