#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace belljar {

namespace json = boost::json;

// Parses text from outside: strict JSON, valid UTF-8, at most 64 levels deep, no object with the
// same key twice (two parsers that disagree on which one counts are a classic hole).
[[nodiscard]] Result<json::value> parse_json(std::string_view text);

// One line, no newline anywhere inside. Strings must be valid UTF-8 already.
[[nodiscard]] std::string to_text(const json::value& value);

// "a string", "an object", ...: for messages that say what was found instead.
[[nodiscard]] std::string_view describe_kind(const json::value& value);

}  // namespace belljar
