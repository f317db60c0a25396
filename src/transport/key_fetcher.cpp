#include "transport/key_fetcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include "access/gate.h"

namespace belljar::transport {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using Endpoints = tcp::resolver::results_type;

constexpr std::uint32_t kHeaderLimit = 16 * 1024;
constexpr unsigned kHttp11 = 11;

Error unreachable(std::string_view step, const beast::error_code& error) {
    return {.code = ErrorCode::Unavailable,
            .message = fmt::format("{}: {}", step, error.message())};
}

bool is_name_of_this_machine(const std::string& host) {
    return host == "localhost" || host == "127.0.0.1" || host == "::1";
}

bool is_number(const std::string& host) {
    beast::error_code error;
    asio::ip::make_address(host, error);
    return !error;
}

// Sends the one request and gives the body of a good answer.
template <typename Stream>
Task<Result<std::string>> exchange(Stream* stream, http::request<http::empty_body> request) {
    beast::error_code error;
    co_await http::async_write(*stream, request, asio::redirect_error(asio::use_awaitable, error));
    if (error) {
        co_return fail(unreachable("send", error));
    }
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.header_limit(kHeaderLimit);
    parser.body_limit(access::KeySet::kTextLimit.count);
    co_await http::async_read(*stream, buffer, parser,
                              asio::redirect_error(asio::use_awaitable, error));
    if (error) {
        co_return fail(unreachable("receive", error));
    }
    if (parser.get().result() != http::status::ok) {
        co_return fail(ErrorCode::Unavailable,
                       fmt::format("the answer is HTTP {}", parser.get().result_int()));
    }
    co_return std::move(parser.get().body());
}

http::request<http::empty_body> request_for(const KeyAddress& address) {
    http::request<http::empty_body> request(http::verb::get, address.target, kHttp11);
    const bool is_ipv6 = address.host.find(':') != std::string::npos;
    const std::string host = is_ipv6 ? "[" + address.host + "]" : address.host;
    request.set(http::field::host, host + ":" + address.port);
    request.set(http::field::accept, "application/json");
    request.set(http::field::connection, "close");
    return request;
}

using ResolverPtr = std::shared_ptr<tcp::resolver>;  // shared with those who may cancel it

// Gives up at the deadline; the system's own resolver may take much longer.
Task<Result<Endpoints>> resolve(ResolverPtr resolver, KeyAddress address, TimePoint deadline) {
    asio::steady_timer timer(resolver->get_executor(), deadline);
    timer.async_wait([resolver](const beast::error_code& error) {
        if (!error) {
            resolver->cancel();
        }
    });
    beast::error_code error;
    Endpoints endpoints = co_await resolver->async_resolve(
        address.host, address.port, asio::redirect_error(asio::use_awaitable, error));
    if (error) {
        co_return fail(unreachable("resolve", error));
    }
    const bool all_here = std::ranges::all_of(
        endpoints, [](const auto& entry) { return entry.endpoint().address().is_loopback(); });
    if (address.scheme == KeyAddress::Scheme::Http && !all_here) {
        co_return fail(ErrorCode::Denied, "http is for this machine only");
    }
    co_return endpoints;
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

}  // namespace

Result<KeyAddress> KeyAddress::parse(const std::string& url) {
    const auto refuse = [](const char* reason) {
        return fail(ErrorCode::InvalidArgument, std::string("auth.jwks_url: ") + reason);
    };
    const bool secure = url.starts_with("https://");
    if (!secure && !url.starts_with("http://")) {
        return refuse("must start with https://");
    }
    const std::string rest = url.substr(url.find("://") + 3);
    const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
    const std::string authority = rest.substr(0, end);
    const std::optional<std::string> host = access::host_name(authority);
    if (!host || host->empty() || rest.find('#') != std::string::npos) {
        return refuse("is no address such as https://login.example/keys");
    }
    if (!secure && !is_name_of_this_machine(*host)) {
        return refuse("http is for this machine only; use https");
    }
    const std::size_t bracket = authority.find(']');
    const std::size_t colon = authority.find(':', bracket == std::string::npos ? 0 : bracket);
    const std::string path = rest.substr(end);
    return KeyAddress{
        .scheme = secure ? Scheme::Https : Scheme::Http,
        .host = *host,
        .port = colon != std::string::npos ? authority.substr(colon + 1) : (secure ? "443" : "80"),
        .target = path.starts_with('/') ? path : "/" + path};
}

KeyFetcher::KeyFetcher(asio::any_io_executor executor, KeyAddress address, Times times,
                       const Log& log)
    : address_(std::move(address)),
      times_(times),
      log_(log),
      executor_(std::move(executor)),
      tls_(make_tls()),
      timer_(executor_) {}

const access::KeySet& KeyFetcher::keys() {
    if (keys_.size() > 0 && Clock::now() - fetched_ > times_.lifetime) {
        log_.error("the keys of the authorization server are too old; no access token is taken");
        keys_ = access::KeySet();
    }
    return keys_;
}

bool KeyFetcher::ask_for_newer() {
    if (fetching_ || wanted_) {
        return true;
    }
    if (stopping_ || (tried_ != TimePoint{} && Clock::now() - tried_ < times_.pause)) {
        return false;
    }
    wanted_ = true;
    timer_.cancel();
    return true;
}

Task<void> KeyFetcher::fetch() {
    fetching_ = true;
    wanted_ = false;
    tried_ = Clock::now();
    const Result<std::string> text = co_await download(tried_ + times_.trial);
    fetching_ = false;
    abort_ = nullptr;
    Result<access::KeySet> set =
        text ? access::KeySet::parse(*text) : Result<access::KeySet>(fail(text.error()));
    if (!set) {
        log_.warning("the keys of the authorization server could not be fetched",
                     {{"host", address_.host}, {"reason", set.error().describe()}});
        co_return;
    }
    keys_ = std::move(*set);
    fetched_ = Clock::now();
    log_.info("keys of the authorization server fetched",
              {{"host", address_.host}, {"keys", static_cast<std::int64_t>(keys_.size())}});
}

Task<Result<std::string>> KeyFetcher::download(TimePoint deadline) {
    const ResolverPtr resolver = std::make_shared<tcp::resolver>(executor_);
    abort_ = [resolver] { resolver->cancel(); };
    BJ_CO_TRY(const Endpoints endpoints, co_await resolve(resolver, address_, deadline));
    beast::ssl_stream<beast::tcp_stream> stream(executor_, tls_);
    beast::tcp_stream& tcp_stream = beast::get_lowest_layer(stream);
    abort_ = [&tcp_stream] { tcp_stream.cancel(); };
    tcp_stream.expires_at(deadline);
    beast::error_code error;
    co_await tcp_stream.async_connect(endpoints, asio::redirect_error(asio::use_awaitable, error));
    if (error) {
        co_return fail(unreachable("connect", error));
    }
    if (address_.scheme == KeyAddress::Scheme::Http) {
        Result<std::string> body = co_await exchange(&tcp_stream, request_for(address_));
        co_return body;
    }
    stream.set_verify_callback(ssl::host_name_verification(address_.host));
    if (!is_number(address_.host) &&
        SSL_set_tlsext_host_name(stream.native_handle(), address_.host.c_str()) != 1) {
        co_return fail(ErrorCode::Internal, "the name of the host does not fit TLS");
    }
    co_await stream.async_handshake(ssl::stream_base::client,
                                    asio::redirect_error(asio::use_awaitable, error));
    if (error) {
        co_return fail(unreachable("TLS handshake", error));
    }
    Result<std::string> body = co_await exchange(&stream, request_for(address_));
    co_return body;
}

Task<void> KeyFetcher::run() {
    while (!stopping_) {
        if (!wanted_) {
            // Soon again as long as there are no keys at all.
            timer_.expires_after(keys_.size() > 0 ? times_.refresh : times_.pause);
            beast::error_code ignored;
            co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        }
        if (!stopping_) {
            co_await fetch();
        }
    }
}

void KeyFetcher::stop() {
    stopping_ = true;
    timer_.cancel();
    if (abort_) {
        abort_();
    }
}

}  // namespace belljar::transport
