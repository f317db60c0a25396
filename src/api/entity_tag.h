#pragma once

#include <string>
#include <string_view>

#include "access/http_message.h"
#include "api/operation.h"

namespace belljar::api {

// The same answer with an ETag made of its body, or 304 if that is what the caller has already.
[[nodiscard]] access::HttpResponse with_tag(const access::HttpRequest& request,
                                            access::HttpResponse response);

// The same where the tag of the body is known.
[[nodiscard]] access::HttpResponse with_tag(const access::HttpRequest& request,
                                            access::HttpResponse response, std::string_view tag);
[[nodiscard]] std::string tag_of(std::string_view body);

// Whether the caller says that it has what this tag names, which stands in quotation marks.
[[nodiscard]] bool has_already(const access::HttpRequest& request, std::string_view tag);

// For descriptions: the header that asks, and the answer.
[[nodiscard]] Parameter tag_parameter();
[[nodiscard]] Answer not_modified();

}  // namespace belljar::api
