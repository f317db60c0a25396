#pragma once

#include "access/http_message.h"
#include "access/rights.h"

namespace belljar::api {

// What a request to one of the REST paths takes. Nothing for paths that every caller may use, and
// for those that do not exist.
[[nodiscard]] access::Rights needed_rights(const access::HttpRequest& request);

}  // namespace belljar::api
