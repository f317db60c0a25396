#pragma once

#include <string_view>

#include "access/http_message.h"
#include "base/error.h"

namespace belljar::api {

// What an error of the engine is in HTTP, with the time to try again after.
[[nodiscard]] access::HttpResponse refuse(const Error& error);
// 405, with the methods that would do.
[[nodiscard]] access::HttpResponse refuse_method(std::string_view allowed);

}  // namespace belljar::api
