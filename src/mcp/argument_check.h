#pragma once

#include <boost/json/object.hpp>

#include "base/json.h"
#include "base/result.h"

namespace belljar::mcp {

// Whether arguments are what the input schema of a tool asks for; if not, a sentence for the model
// that names the argument and what is allowed. Knows the keywords that our own schemas use: type,
// enum, anyOf, minimum, exclusiveMinimum, maximum, minLength, maxLength, maxItems, items,
// properties, required and additionalProperties. Lengths are those of bytes. A null stands for an
// argument left out.
[[nodiscard]] Result<void> check_arguments(const json::object& arguments,
                                           const json::object& schema);

}  // namespace belljar::mcp
