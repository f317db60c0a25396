#include "transport/http_answer.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace belljar::transport {
namespace {

namespace http = boost::beast::http;

// Fields of which a second one would contradict the first.
bool is_alone(std::string_view name) {
    return name == "Cache-Control" || name == "X-Content-Type-Options";
}

std::string text_of(const HeadOfAnswer& head) {
    std::string text = fmt::format("HTTP/1.1 {} {}\r\n", head.result_int(), head.reason());
    for (const auto& field : head) {
        text += field.name_string();
        text += ": ";
        text += field.value();
        text += "\r\n";
    }
    text += "\r\n";
    return text;
}

}  // namespace

HeadOfAnswer begin_answer(const access::HttpResponse& answer, Connectivity connectivity) {
    HeadOfAnswer response(static_cast<http::status>(answer.status), kHttp11);
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

WholeAnswer whole_answer(access::HttpResponse answer, Connectivity connectivity) {
    HeadOfAnswer head = begin_answer(answer, connectivity);
    head.content_length(answer.length());
    return {.head = text_of(head), .body = std::move(answer.body), .rest = std::move(answer.rest)};
}

std::array<boost::asio::const_buffer, 3> WholeAnswer::buffers() const {
    namespace asio = boost::asio;
    return {asio::buffer(head), asio::buffer(body),
            rest ? asio::buffer(*rest) : asio::const_buffer{}};
}

}  // namespace belljar::transport
