#include "api/json_body.h"

namespace belljar::api {

bool is_json(const access::HttpRequest& request) {
    const std::string type = request.header("Content-Type").value_or("");
    const std::string media = type.substr(0, type.find_first_of("; \t"));
    const access::LessIgnoringCase less;
    constexpr std::string_view kJson = "application/json";
    return !less(media, kJson) && !less(kJson, media);
}

Result<json::object> read_json_object(const std::string& body) {
    BJ_TRY(json::value value, parse_json(body));
    if (!value.is_object()) {
        return fail(ErrorCode::InvalidArgument, "the body must be a JSON object");
    }
    return std::move(value.get_object());
}

}  // namespace belljar::api
