#pragma once

#include <boost/json/object.hpp>

#include "base/json.h"

namespace belljar::outcome {

// JSON Schemas of what result_json.h and session_json.h write.
[[nodiscard]] json::object result_schema();
[[nodiscard]] json::object session_schema();
[[nodiscard]] json::object limits_schema();

}  // namespace belljar::outcome
