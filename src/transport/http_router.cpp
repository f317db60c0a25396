#include "transport/http_router.h"

namespace belljar::transport {
namespace {

using access::HttpRequest;
using access::HttpResponse;

// Where JSON-RPC is taken: the endpoint, and two paths at which older gateways have it.
bool is_endpoint(const HttpRequest& request) {
    const bool posted = request.method == "POST";
    return request.path == "/mcp" || request.path == "/mcp/v1" || (request.path == "/" && posted);
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
    if (is_endpoint(request)) {
        HttpResponse response = co_await mcp_.handle(std::move(request), std::move(cancellation));
        co_return response;
    }
    if (request.path == "/mcp/sse" && request.method == "GET") {
        HttpResponse response =
            co_await mcp_.handle_sse(std::move(request), std::move(cancellation));
        co_return response;
    }
    if (request.path == "/mcp/messages" && request.method == "POST") {
        co_return mcp_.handle_sse_message(std::move(request));
    }
    HttpResponse response = co_await routes_.handle(std::move(request), std::move(cancellation));
    co_return response;
}

}  // namespace belljar::transport
