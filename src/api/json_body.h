#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "access/http_message.h"
#include "base/json.h"
#include "base/result.h"

namespace belljar::api {

// "application/json", with or without parameters such as a charset.
[[nodiscard]] bool is_json(const access::HttpRequest& request);

// InvalidArgument if it is no JSON, or no object.
[[nodiscard]] Result<json::object> read_json_object(const std::string& body);

}  // namespace belljar::api
