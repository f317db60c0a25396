#include "transport/http_answer.h"

#include <string_view>
#include <utility>

namespace belljar::transport {
namespace {

namespace http = boost::beast::http;

// Fields of which a second one would contradict the first.
bool is_alone(std::string_view name) {
    return name == "Cache-Control" || name == "X-Content-Type-Options";
}

template <typename Body>
http::response<Body> begin(const access::HttpResponse& answer, Connectivity connectivity) {
    http::response<Body> response(static_cast<http::status>(answer.status), kHttp11);
    // Nothing that is answered here is for a cache or for guessing browsers, unless it says so.
    response.set(http::field::cache_control, "no-store");
    response.set("X-Content-Type-Options", "nosniff");
    if (!answer.body.empty() || answer.file) {
        response.set(http::field::content_type, answer.content_type);
    }
    for (const auto& [name, value] : answer.headers) {
        if (response.count(name) == 1 && is_alone(name)) {
            response.set(name, value);
        } else {
            response.insert(name, value);
        }
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
