#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "base/json.h"

namespace belljar {

// A schema of ours as it is written down. There is no "$schema" member: validators of older clients
// refuse a dialect that they do not know.
[[nodiscard]] json::object schema_from(std::string_view text);

// Gives a property of a schema its description.
void describe_member(json::object& schema, std::string_view property, std::string_view description);

}  // namespace belljar
