#include "access/cross_origin.h"

namespace belljar::access {
namespace {

constexpr const char* kMethods = "GET, HEAD, POST, PUT, PATCH, DELETE";
constexpr const char* kRequestHeaders =
    "content-type, authorization, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, "
    "last-event-id, range, if-range, if-match, if-none-match, idempotency-key, prefer, "
    "traceparent, tracestate";
constexpr const char* kReadableHeaders =
    "mcp-session-id, www-authenticate, retry-after, content-range, accept-ranges, "
    "content-disposition, etag, location, link, allow, idempotency-replayed, preference-applied, "
    "ratelimit, ratelimit-policy, traceresponse";
constexpr const char* kSecondsToRemember = "600";

}  // namespace

std::optional<HttpResponse> answer_preflight(const HttpRequest& request) {
    if (request.method != "OPTIONS" || !request.headers.contains("Origin") ||
        !request.headers.contains("Access-Control-Request-Method")) {
        return std::nullopt;
    }
    HttpResponse response{.status = 204, .headers = cross_origin_headers(request)};
    response.headers.emplace_back("Access-Control-Allow-Methods", kMethods);
    response.headers.emplace_back("Access-Control-Allow-Headers", kRequestHeaders);
    response.headers.emplace_back("Access-Control-Max-Age", kSecondsToRemember);
    return response;
}

std::vector<std::pair<std::string, std::string>> cross_origin_headers(const HttpRequest& request) {
    const std::optional<std::string> origin = request.header("Origin");
    if (!origin || origin->empty()) {
        return {};
    }
    return {{"Access-Control-Allow-Origin", *origin},
            {"Access-Control-Expose-Headers", kReadableHeaders},
            {"Vary", "Origin"}};
}

}  // namespace belljar::access
