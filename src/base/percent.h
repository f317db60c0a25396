#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belljar {

// Letters, digits and "-._~" stay, and what `also_plain` names.
[[nodiscard]] std::string percent_encoded(std::string_view text, std::string_view also_plain = {});
// Nothing if a percent sign is not followed by two digits. Any bytes may come out.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text);

// The names and values of a query, decoded, in their order; '+' is a space. Nothing if one of them
// cannot be decoded.
using QueryValues = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] std::optional<QueryValues> parse_query(std::string_view query);

}  // namespace belljar
