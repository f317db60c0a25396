#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/token_book.h"
#include "base/json.h"
#include "base/result.h"

namespace belljar::access {

// tokens.json as text and back. Whatever is not exactly of that form is refused as a whole.
[[nodiscard]] std::string tokens_to_text(const std::vector<TokenRecord>& records);
[[nodiscard]] Result<std::vector<TokenRecord>> tokens_from_text(std::string_view text);

// Limits of a principal, those that it has of its own. Nothing if one of them is no whole number of
// a size that is understood; other members are not looked at.
[[nodiscard]] std::optional<execution::PrincipalLimits> limits_from_json(
    const json::object& object);
[[nodiscard]] json::object limits_to_json(const execution::PrincipalLimits& limits);

}  // namespace belljar::access
