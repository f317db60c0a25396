#include "api/entity_tag.h"

#include <fmt/format.h>

#include "api/operation_parts.h"
#include "crypto/digest.h"

namespace belljar::api {
namespace {

using access::HttpResponse;

// Whether a list such as `"a", W/"b"` names the tag; "*" names every one.
bool names(std::string_view list, std::string_view tag) {
    while (!list.empty()) {
        const std::size_t comma = list.find(',');
        std::string_view one = list.substr(0, comma);
        list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
        const std::size_t begin = one.find_first_not_of(" \t");
        one = begin == std::string_view::npos ? std::string_view() : one.substr(begin);
        one = one.substr(0, one.find_last_not_of(" \t") + 1);
        if (one.starts_with("W/")) {
            one.remove_prefix(2);
        }
        if (one == tag || one == "*") {
            return true;
        }
    }
    return false;
}

}  // namespace

bool has_already(const access::HttpRequest& request, std::string_view tag) {
    return names(request.header("If-None-Match").value_or(""), tag);
}

std::string tag_of(std::string_view body) {
    return fmt::format("\"{}\"", crypto::sha256_hex(body).substr(0, 32));
}

HttpResponse with_tag(const access::HttpRequest& request, HttpResponse response) {
    const std::string tag = response.status == 200 ? tag_of(response.body) : "";
    return with_tag(request, std::move(response), tag);
}

HttpResponse with_tag(const access::HttpRequest& request, HttpResponse response,
                      std::string_view tag) {
    if (response.status != 200) {
        return response;
    }
    response.headers.emplace_back("ETag", tag);
    response.headers.emplace_back("Cache-Control", "no-cache");
    if (has_already(request, tag)) {
        response.status = 304;
        response.body.clear();
    }
    return response;
}

Parameter tag_parameter() {
    return header_parameter("If-None-Match", "The ETag of what the caller has.");
}

Answer not_modified() { return {.status = 304, .description = "The caller has it."}; }

}  // namespace belljar::api
