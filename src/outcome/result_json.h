#pragma once

#include <boost/json/object.hpp>
#include <vector>

#include "base/json.h"
#include "execution/limits.h"
#include "execution/result.h"

namespace belljar::outcome {

// The result record as JSON. Guest text is made valid UTF-8.
[[nodiscard]] json::object to_json(const execution::RunResult& result);
[[nodiscard]] json::object to_json(const execution::Limits& limits);
[[nodiscard]] json::object to_json(const execution::Isolation& isolation);
[[nodiscard]] json::object to_json(const execution::Usage& usage);
[[nodiscard]] json::object to_json(const std::vector<execution::CappedLimit>& capped);

}  // namespace belljar::outcome
