#include "transport/http_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <memory>
#include <variant>

namespace belljar::transport {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;
using tcp = asio::ip::tcp;
using Endpoints = tcp::resolver::results_type;
using UnixStream = beast::basic_stream<asio::local::stream_protocol>;

constexpr unsigned kVersion = 11;
constexpr std::uint32_t kLargestHead = 16 * 1024;

Error unreachable(std::string_view what, const beast::error_code& error) {
    return {.code = ErrorCode::Unavailable,
            .message = fmt::format("the server cannot be reached ({}: {})", what, error.message())};
}

bool is_number(const std::string& host) {
    beast::error_code error;
    asio::ip::make_address(host, error);
    return !error;
}

std::string host_of(const ServerAddress& address) {
    if (address.kind == ServerAddress::Kind::UnixSocket) {
        return "localhost";
    }
    const bool is_ipv6 = address.host.find(':') != std::string::npos;
    return fmt::format("{}:{}", is_ipv6 ? "[" + address.host + "]" : address.host, address.port);
}

http::request<http::string_body> encode(const ServerAddress& address,
                                        const ClientRequest& request) {
    http::request<http::string_body> encoded;
    encoded.version(kVersion);
    encoded.method_string(request.method);
    encoded.target(request.target);
    encoded.set(http::field::host, host_of(address));
    encoded.set(http::field::connection, "close");
    if (!request.token.empty()) {
        encoded.set(http::field::authorization, "Bearer " + request.token);
    }
    for (const auto& [name, value] : request.headers) {
        encoded.set(name, value);
    }
    if (!request.body.empty()) {
        encoded.set(http::field::content_type, "application/json");
        encoded.body() = request.body;
    }
    encoded.prepare_payload();
    return encoded;
}

template <typename Stream>
Task<Result<ClientAnswer>> exchange(Stream* stream, http::request<http::string_body> request,
                                    Bytes largest_answer) {
    beast::error_code error;
    co_await http::async_write(*stream, request, asio::redirect_error(asio::use_awaitable, error));
    if (error) {
        co_return fail(unreachable("send", error));
    }
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.header_limit(kLargestHead);
    parser.body_limit(largest_answer.count);
    co_await http::async_read(*stream, buffer, parser,
                              asio::redirect_error(asio::use_awaitable, error));
    if (error) {
        co_return fail(unreachable("receive", error));
    }
    co_return ClientAnswer{.status = parser.get().result_int(),
                           .body = std::move(parser.get().body())};
}

Task<Result<ClientAnswer>> ask_unix(asio::any_io_executor executor, ServerAddress address,
                                    ClientRequest request, TimePoint deadline) {
    UnixStream stream(executor);
    stream.expires_at(deadline);
    beast::error_code error;
    const asio::local::stream_protocol::endpoint endpoint(address.socket);
    co_await stream.async_connect(endpoint, asio::redirect_error(asio::use_awaitable, error));
    if (error) {
        co_return fail(unreachable("connect", error));
    }
    Result<ClientAnswer> answer =
        co_await exchange(&stream, encode(address, request), request.largest_answer);
    co_return answer;
}

ssl::context make_tls() {
    ssl::context context(ssl::context::tls_client);
    context.set_options(ssl::context::default_workarounds | ssl::context::no_tlsv1 |
                        ssl::context::no_tlsv1_1);
    beast::error_code ignored;  // without authorities no certificate is good: it fails closed
    context.set_default_verify_paths(ignored);
    context.set_verify_mode(ssl::verify_peer);
    return context;
}

// Gives up at the deadline; the system's own resolver may take much longer.
Task<Result<Endpoints>> resolve(asio::any_io_executor executor, ServerAddress address,
                                TimePoint deadline) {
    const auto resolver = std::make_shared<tcp::resolver>(executor);
    asio::steady_timer timer(executor, deadline);
    timer.async_wait([resolver](const beast::error_code& error) {
        if (!error) {
            resolver->cancel();
        }
    });
    beast::error_code error;
    Endpoints endpoints = co_await resolver->async_resolve(
        address.host, address.port, asio::redirect_error(asio::use_awaitable, error));
    if (error) {
        co_return fail(unreachable("look up the name", error));
    }
    co_return endpoints;
}

bool all_here(const Endpoints& endpoints) {
    return std::ranges::all_of(
        endpoints, [](const auto& entry) { return entry.endpoint().address().is_loopback(); });
}

Task<Result<ClientAnswer>> ask_https(beast::tcp_stream connected, ServerAddress address,
                                     ClientRequest request) {
    ssl::context context = make_tls();
    beast::ssl_stream<beast::tcp_stream> stream(std::move(connected), context);
    stream.set_verify_callback(ssl::host_name_verification(address.host));
    if (!is_number(address.host) &&
        SSL_set_tlsext_host_name(stream.native_handle(), address.host.c_str()) != 1) {
        co_return fail(ErrorCode::InvalidArgument, "the name of the host does not fit TLS");
    }
    beast::error_code error;
    co_await stream.async_handshake(ssl::stream_base::client,
                                    asio::redirect_error(asio::use_awaitable, error));
    if (error) {
        co_return fail(unreachable("TLS handshake", error));
    }
    Result<ClientAnswer> answer =
        co_await exchange(&stream, encode(address, request), request.largest_answer);
    co_return answer;
}

}  // namespace

Result<ServerAddress> ServerAddress::parse(const std::string& url) {
    constexpr std::string_view kUnix = "unix:";
    if (url.starts_with(kUnix) && url.size() > kUnix.size()) {
        return ServerAddress{.kind = Kind::UnixSocket, .socket = url.substr(kUnix.size())};
    }
    const bool secure = url.starts_with("https://");
    const std::size_t begin = url.find("://");
    if ((!secure && !url.starts_with("http://")) || begin == std::string::npos) {
        return fail(ErrorCode::InvalidArgument,
                    "the address must begin with http://, https:// or unix:");
    }
    std::string authority = url.substr(begin + 3);
    authority.erase(std::min(authority.find('/'), authority.size()));
    const std::size_t bracket = authority.find(']');
    const std::size_t colon = authority.find(':', bracket == std::string::npos ? 0 : bracket);
    std::string host = authority.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    }
    if (host.empty()) {
        return fail(ErrorCode::InvalidArgument, "the address names no host");
    }
    return ServerAddress{
        .kind = secure ? Kind::Https : Kind::Http,
        .host = std::move(host),
        .port = colon == std::string::npos ? (secure ? "443" : "80") : authority.substr(colon + 1)};
}

Task<Result<ClientAnswer>> ask_server(asio::any_io_executor executor, ServerAddress address,
                                      ClientRequest request, TimePoint deadline) {
    if (address.kind == ServerAddress::Kind::UnixSocket) {
        Result<ClientAnswer> answer =
            co_await ask_unix(executor, std::move(address), std::move(request), deadline);
        co_return answer;
    }
    BJ_CO_TRY(const Endpoints endpoints, co_await resolve(executor, address, deadline));
    const bool in_the_clear = address.kind == ServerAddress::Kind::Http;
    if (in_the_clear && request.clear_only_here && !all_here(endpoints)) {
        co_return fail(ErrorCode::Denied, "http is for this machine only");
    }
    beast::tcp_stream stream(executor);
    stream.expires_at(deadline);
    beast::error_code error;
    co_await stream.async_connect(endpoints, asio::redirect_error(asio::use_awaitable, error));
    if (error) {
        co_return fail(unreachable("connect", error));
    }
    if (address.kind == ServerAddress::Kind::Https) {
        Result<ClientAnswer> answer =
            co_await ask_https(std::move(stream), std::move(address), std::move(request));
        co_return answer;
    }
    Result<ClientAnswer> answer =
        co_await exchange(&stream, encode(address, request), request.largest_answer);
    co_return answer;
}

Task<Result<ClientAnswer>> ask_server_unless(asio::steady_timer& stopped, ServerAddress address,
                                             ClientRequest request, TimePoint deadline) {
    using asio::experimental::awaitable_operators::operator||;
    beast::error_code ignored;
    auto first = co_await (
        ask_server(stopped.get_executor(), std::move(address), std::move(request), deadline) ||
        stopped.async_wait(asio::redirect_error(asio::use_awaitable, ignored)));
    if (auto* answer = std::get_if<0>(&first)) {
        co_return std::move(*answer);
    }
    co_return fail(ErrorCode::Cancelled, "the server is stopping");
}

}  // namespace belljar::transport
