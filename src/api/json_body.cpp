#include "api/json_body.h"

#include <fmt/format.h>

#include "access/gate.h"

namespace belljar::api {

using access::HttpRequest;

bool is_json(const HttpRequest& request) {
    const std::string type = request.header("Content-Type").value_or("");
    const std::string media = type.substr(0, type.find_first_of("; \t"));
    const access::LessIgnoringCase less;
    constexpr std::string_view kJson = "application/json";
    return !less(media, kJson) && !less(kJson, media);
}

access::HttpResponse refuse_media_type() {
    return access::make_refusal(415, "send the body with Content-Type: application/json");
}

Result<json::object> read_object(std::string_view body, std::string_view example) {
    BJ_TRY(json::value value, parse_json(body));
    if (!value.is_object()) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("the body must be a JSON object such as {}", example));
    }
    return std::move(value.get_object());
}

}  // namespace belljar::api
