#include "transport/http_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "transport/http_connection.h"

namespace belljar::transport {
namespace {

using boost::system::error_code;

constexpr auto kAcceptPause = std::chrono::milliseconds(50);
constexpr auto kUnwatched = std::chrono::milliseconds(20);

// Said without waiting: whoever has too many connections is owed no patience.
void send_away(Socket& socket) {
    constexpr std::string_view kAnswer =
        "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\n"
        "Connection: close\r\nContent-Length: 49\r\n\r\n"
        R"({"error":"this address has too many connections"})";
    static_cast<void>(::send(socket.native_handle(), kAnswer.data(), kAnswer.size(),
                             MSG_DONTWAIT | MSG_NOSIGNAL));
}

// What connections are counted by: an address of IPv4, or the network of one of IPv6, whose owner
// has all addresses in it.
std::string neighbourhood(const std::string& address) {
    constexpr std::size_t kNetwork = 8;
    const std::optional<config::AddressBytes> bytes = config::parse_address(address);
    return bytes && address.contains(':') ? std::string(bytes->begin(), bytes->begin() + kNetwork)
                                          : address;
}

}  // namespace

HttpServer::HttpServer(const asio::any_io_executor& executor, Handler handler, Options options,
                       const Log& log)
    : executor_(executor),
      handler_(std::move(handler)),
      options_(std::move(options)),
      log_(log),
      connections_(executor, log),
      writers_(executor, log),
      accepting_(executor, log),
      next_look_(std::make_shared<asio::steady_timer>(executor)) {}

HttpServer::~HttpServer() = default;

void HttpServer::add(Listener listener, TlsFiles* tls) {
    doors_.push_back(std::make_unique<Door>(std::move(listener), tls));
}

Task<void> HttpServer::run() {
    for (const std::unique_ptr<Door>& door : doors_) {
        accepting_.spawn("listener", accept_at(door.get()));
    }
    co_await accepting_.wait(TimePoint::max());
}

Task<void> HttpServer::accept_at(Door* door) {
    asio::steady_timer pause(executor_);
    while (!draining_) {
        error_code error;
        if (open_.size() >= options_.connections) {
            // New clients wait in the kernel's queue until somebody leaves.
            pause.expires_after(kAcceptPause);
            co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
            continue;
        }
        Socket socket = co_await door->listener.acceptor().async_accept(
            asio::redirect_error(asio::use_awaitable, error));
        if (!error) {
            admit(std::move(socket), door->tls);
        } else if (error != asio::error::operation_aborted) {
            log_.warning("a connection could not be accepted", {{"reason", error.message()}});
            pause.expires_after(kAcceptPause);
            co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
        }
    }
}

void HttpServer::watch_soon(HttpConnection* connection) {
    const bool looks = !unwatched_.empty();
    unwatched_.insert(connection);
    if (looks) {
        return;
    }
    next_look_->expires_after(kUnwatched);
    next_look_->async_wait([this, alive = std::weak_ptr(next_look_)](const error_code& error) {
        if (error || alive.expired()) {
            return;
        }
        for (HttpConnection* young : std::exchange(unwatched_, {})) {
            young->watch();
        }
    });
}

void HttpServer::admit(Socket socket, TlsFiles* tls) {
    Peer peer = peer_of(socket);
    const bool counted = options_.connections_each > 0 &&
                         peer.arrival == access::Arrival::Network &&
                         !config::contains(options_.trusted_proxies, peer.address);
    const auto found = by_address_.find(neighbourhood(peer.address));
    if (counted && found != by_address_.end() && found->second >= options_.connections_each) {
        if (tls == nullptr) {
            send_away(socket);
        }
        return;
    }
    if (peer.arrival == access::Arrival::Network) {
        error_code ignored;
        socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    }
    connections_.spawn("connection", serve(std::move(socket), std::move(peer), tls));
}

Task<void> HttpServer::serve(Socket socket, Peer peer, TlsFiles* tls) {
    const std::string address = neighbourhood(peer.address);
    ++by_address_[address];
    {
        HttpConnection connection(*this, std::move(socket), std::move(peer));
        co_await connection.run(tls);
    }
    const auto found = by_address_.find(address);
    if (--found->second == 0) {
        by_address_.erase(found);
    }
}

void HttpServer::drain() {
    draining_ = true;
    for (const std::unique_ptr<Door>& door : doors_) {
        door->listener.close();
    }
}

bool HttpServer::is_busy() const {
    return std::ranges::any_of(
        open_, [](const HttpConnection* connection) { return connection->is_busy(); });
}

void HttpServer::stop() {
    drain();
    stopping_ = true;
    for (HttpConnection* connection : std::set(open_)) {
        connection->stop();
    }
    connections_.close();
}

Task<void> HttpServer::wait(TimePoint deadline) { return connections_.wait(deadline); }

}  // namespace belljar::transport
