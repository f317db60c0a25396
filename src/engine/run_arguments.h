#pragma once

#include <boost/json/object.hpp>

#include "base/json.h"
#include "base/result.h"
#include "execution/request.h"

namespace belljar::engine {

// The arguments of `execute_code` and the body of `POST /execute {code}`: one set of names, read in
// one place. Errors name the argument, what was found and what is allowed.
[[nodiscard]] Result<execution::RunRequest> parse_run_arguments(const json::object& arguments);

}  // namespace belljar::engine
