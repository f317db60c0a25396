#include "transport/http_answer.h"

#include <utility>

namespace belljar::transport {
namespace {

namespace http = boost::beast::http;

template <typename Body>
http::response<Body> begin(const access::HttpResponse& answer, Connectivity connectivity) {
    http::response<Body> response(static_cast<http::status>(answer.status), kHttp11);
    // Nothing that is answered here is for a cache or for guessing browsers.
    response.set(http::field::cache_control, "no-store");
    response.set("X-Content-Type-Options", "nosniff");
    if (!answer.body.empty() || answer.file) {
        response.set(http::field::content_type, answer.content_type);
    }
    for (const auto& [name, value] : answer.headers) {
        response.insert(name, value);
    }
    response.keep_alive(connectivity == Connectivity::KeepAlive);
    return response;
}

}  // namespace

HeadOfAnswer begin_answer(const access::HttpResponse& answer, Connectivity connectivity) {
    return begin<http::empty_body>(answer, connectivity);
}

WholeAnswer whole_answer(access::HttpResponse answer, Connectivity connectivity) {
    auto response = begin<http::string_body>(answer, connectivity);
    response.body() = std::move(answer.body);
    response.prepare_payload();
    return response;
}

}  // namespace belljar::transport
