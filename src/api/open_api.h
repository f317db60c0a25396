#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "api/operation_table.h"

namespace belljar::api {

// The operations as an OpenAPI 3.1 document. What is the same for all of them is added to each: the
// token that it takes, the rights that the token must give, and what refusals look like.
[[nodiscard]] json::object describe(const OperationTable& table, const std::string& version);

}  // namespace belljar::api
