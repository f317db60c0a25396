#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace belljar::config {

// The known word that `word` was most likely meant to be, if one is close enough.
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view word,
                                                      std::span<const std::string_view> known);

// Messages for names that are not in the schema: what was probably meant and what there is.
[[nodiscard]] std::string unknown_key(std::string_view name);
[[nodiscard]] std::string unknown_section(std::string_view name);
[[nodiscard]] std::string unknown_variable(std::string_view name);

}  // namespace belljar::config
