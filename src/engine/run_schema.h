#pragma once

#include <boost/json/object.hpp>

#include "base/json.h"

namespace belljar::engine {

// What parse_run_arguments() reads, as a JSON Schema; without what one installation allows.
[[nodiscard]] json::object run_arguments_schema();

}  // namespace belljar::engine
