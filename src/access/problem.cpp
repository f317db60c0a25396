#include "access/problem.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/percent.h"

namespace belljar::access {
namespace {

constexpr std::string_view kNative = "/v1/";
constexpr std::string_view kProblemType = "application/problem+json";
constexpr std::size_t kLongestBody = 16 * 1024;

struct Kind {
    unsigned status;
    std::string_view title;
    ErrorCode code;
};

constexpr std::array<Kind, 20> kKinds{
    {{400, "Bad Request", ErrorCode::InvalidArgument},
     {401, "Unauthorized", ErrorCode::Unauthenticated},
     {403, "Forbidden", ErrorCode::Denied},
     {404, "Not Found", ErrorCode::NotFound},
     {405, "Method Not Allowed", ErrorCode::Unsupported},
     {408, "Request Timeout", ErrorCode::Cancelled},
     {409, "Conflict", ErrorCode::Conflict},
     {410, "Gone", ErrorCode::NotFound},
     {411, "Length Required", ErrorCode::InvalidArgument},
     {412, "Precondition Failed", ErrorCode::Precondition},
     {413, "Content Too Large", ErrorCode::TooLarge},
     {415, "Unsupported Media Type", ErrorCode::Unsupported},
     {416, "Range Not Satisfiable", ErrorCode::InvalidArgument},
     {422, "Unprocessable Content", ErrorCode::Unsupported},
     {429, "Too Many Requests", ErrorCode::QuotaReached},
     {431, "Request Header Fields Too Large", ErrorCode::TooLarge},
     {499, "Client Closed Request", ErrorCode::Cancelled},
     {500, "Internal Server Error", ErrorCode::Internal},
     {503, "Service Unavailable", ErrorCode::Unavailable},
     {507, "Insufficient Storage", ErrorCode::StorageFull}}};

Kind kind_of(unsigned status) {
    const auto* kind = std::ranges::find(kKinds, status, &Kind::status);
    if (kind != kKinds.end()) {
        return *kind;
    }
    return status < 500 ? Kind{status, "Refused", ErrorCode::InvalidArgument}
                        : Kind{status, "Server Error", ErrorCode::Internal};
}

bool has_header(const HttpResponse& response, std::string_view name) {
    const LessIgnoringCase less;
    return std::ranges::any_of(response.headers, [&](const auto& header) {
        return !less(header.first, name) && !less(name, header.first);
    });
}

// Who refuses for what a caller sent begins with its name: "timeout" must be a number.
std::string_view named_member(std::string_view message) {
    if (!message.starts_with('"')) {
        return {};
    }
    const std::size_t end = message.find('"', 1);
    const std::string_view name = message.substr(1, end == std::string_view::npos ? 0 : end - 1);
    const bool plain = std::ranges::all_of(
        name, [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '_'; });
    return plain ? name : std::string_view();
}

bool is_in_query(const HttpRequest& request, std::string_view name) {
    const std::optional<QueryValues> values = parse_query(request.query);
    return values &&
           std::ranges::any_of(*values, [name](const auto& value) { return value.first == name; });
}

json::array named_errors(const HttpRequest& request, std::string_view message) {
    const std::string_view name = named_member(message);
    if (name.empty()) {
        return {};
    }
    const bool takes_body =
        request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
    json::object error{{"detail", message}};
    if (takes_body && !is_in_query(request, name)) {
        error["pointer"] = "/" + std::string(name);
    } else {
        error["parameter"] = name;
    }
    return {std::move(error)};
}

}  // namespace

void shape_refusal(const HttpRequest& request, HttpResponse& response) {
    if (response.status < 400 || !request.path.starts_with(kNative) || response.file ||
        response.content_type != "application/json" || response.body.size() > kLongestBody) {
        return;
    }
    const Result<json::value> body = parse_json(response.body);
    const json::object* said = body ? body->if_object() : nullptr;
    const json::value* message = said == nullptr ? nullptr : said->if_contains("error");
    if (message == nullptr || !message->is_string()) {
        return;
    }
    const Kind kind = kind_of(response.status);
    // A queue that is full says when to come again; what is gone cannot.
    const bool overloaded = response.status == 503 && has_header(response, "Retry-After");
    json::object problem{{"type", "about:blank"},
                         {"title", kind.title},
                         {"status", response.status},
                         {"detail", *message},
                         {"code", name_of(overloaded ? ErrorCode::Overloaded : kind.code)},
                         {"error", *message}};
    const bool about_input = response.status == 400 || response.status == 422;
    if (json::array errors =
            about_input ? named_errors(request, message->get_string()) : json::array{};
        !errors.empty()) {
        problem["errors"] = std::move(errors);
    }
    response.content_type = kProblemType;
    response.body = to_text(problem);
}

}  // namespace belljar::access
