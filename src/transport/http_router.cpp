#include "transport/http_router.h"

#include <algorithm>
#include <iterator>

#include "access/cross_origin.h"

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

access::Gate::Door HttpRouter::door_of(const HttpRequest& request) const {
    return routes_.is_public(request) ? access::Gate::Door::Open : access::Gate::Door::Guarded;
}

std::optional<HttpResponse> HttpRouter::check(const HttpRequest& request) const {
    return gate_.check(request, door_of(request));
}

Task<HttpResponse> HttpRouter::answer(HttpRequest request, engine::CancellationPtr cancellation) {
    if (std::optional<HttpResponse> answer = gate_.admit(request, door_of(request))) {
        co_return std::move(*answer);
    }
    auto page_headers = access::cross_origin_headers(request);
    HttpResponse response = co_await route(std::move(request), std::move(cancellation));
    std::ranges::move(page_headers, std::back_inserter(response.headers));
    co_return response;
}

Task<HttpResponse> HttpRouter::route(HttpRequest request, engine::CancellationPtr cancellation) {
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
