#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string_view>

#include "access/http_message.h"
#include "base/json.h"
#include "base/result.h"

namespace belljar::api {

// Whether the body is JSON by its Content-Type, with or without parameters such as a charset.
[[nodiscard]] bool is_json(const access::HttpRequest& request);
// 415.
[[nodiscard]] access::HttpResponse refuse_media_type();

// The object that the body is; `example` is for whoever sent something else.
[[nodiscard]] Result<json::object> read_object(std::string_view body, std::string_view example);

}  // namespace belljar::api
