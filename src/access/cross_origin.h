#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "access/http_message.h"

namespace belljar::access {

// What browsers ask before they let a page of another origin use this server (CORS). Only for
// requests whose Origin the gate has let through: what is said here is said to that origin alone.

// The answer to a browser that asks ahead of a request; nothing if this is none.
[[nodiscard]] std::optional<HttpResponse> answer_preflight(const HttpRequest& request);

// The headers with which a page may read the answer; none without an Origin.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> cross_origin_headers(
    const HttpRequest& request);

}  // namespace belljar::access
