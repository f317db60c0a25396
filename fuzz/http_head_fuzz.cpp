// Bytes as the head of a request: a refusal with a sentence, or a head on which our check and the
// parser behind it agree. Its headers are then read as those of a trusted proxy.
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "access/http_message.h"
#include "base/assert.h"
#include "config/address_range.h"
#include "transport/forwarded.h"
#include "transport/http_head.h"

namespace {

namespace http = boost::beast::http;
using namespace belljar;

// The parser must find the end of the head where we do, and no other length than the one we saw.
access::HttpRequest parse(std::string_view head) {
    http::request_parser<http::buffer_body> parser;
    parser.header_limit(1 << 20);
    parser.body_limit(boost::none);
    boost::system::error_code error;
    const std::size_t used = parser.put(boost::asio::buffer(head), error);
    access::HttpRequest request{.client = "10.0.0.1"};
    if (error) {
        return request;  // refused behind us
    }
    BJ_ASSERT(used == head.size());
    BJ_ASSERT(parser.is_header_done());
    BJ_ASSERT(!(parser.chunked() && parser.content_length()));
    for (const auto& field : parser.get()) {
        request.headers.emplace(field.name_string(), field.value());
    }
    return request;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::vector<config::AddressRange> kProxies{
        config::parse_address_range("10.0.0.0/8").value()};
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const transport::HeadLimits limits;
    const auto end = transport::find_end_of_head(bytes);
    if (!end) {
        if (const auto fault = transport::find_early_fault(bytes, limits)) {
            BJ_ASSERT(!fault->message.empty());
        }
        return 0;
    }
    const std::string_view head = bytes.substr(0, *end);
    if (const auto fault = transport::find_fault(head, limits)) {
        BJ_ASSERT(fault->status >= 400 && fault->status < 500 && !fault->message.empty());
        return 0;
    }
    access::HttpRequest request = parse(head);
    if (transport::apply_forwarded(request, kProxies)) {
        BJ_ASSERT(config::parse_address(request.client).has_value());
        BJ_ASSERT(request.scheme == "http" || request.scheme == "https");
    }
    return 0;
}
