#include "transport/http_router.h"

namespace belljar::transport {
namespace {

using access::HttpRequest;
using access::HttpResponse;

// Without sessions there is nothing to stream or to end at the MCP endpoint.
HttpResponse refuse_mcp_method() {
    HttpResponse response =
        access::make_refusal(405, "the MCP endpoint takes POST only; it keeps no sessions");
    response.headers.emplace_back("Allow", "POST");
    return response;
}

}  // namespace

std::optional<HttpResponse> HttpRouter::check(const HttpRequest& request) const {
    if (std::optional<HttpResponse> refusal = gate_.check_names(request)) {
        return refusal;
    }
    return api::Routes::is_public(request) ? std::nullopt : gate_.check_token(request);
}

Task<HttpResponse> HttpRouter::answer(HttpRequest request, engine::CancellationPtr cancellation) {
    if (std::optional<HttpResponse> refusal = check(request)) {
        co_return std::move(*refusal);
    }
    request.principal = gate_.principal_of(request);
    if (request.path == "/mcp") {
        if (request.method != "POST") {
            co_return refuse_mcp_method();
        }
        HttpResponse response =
            co_await mcp_.handle_post(std::move(request), std::move(cancellation));
        co_return response;
    }
    HttpResponse response = co_await routes_.handle(std::move(request), std::move(cancellation));
    co_return response;
}

}  // namespace belljar::transport
