#include "transport/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

namespace belljar::transport {
namespace {

using asio::ip::tcp;
using boost::system::error_code;

constexpr int kFirstPassed = 3;  // as systemd counts them
constexpr unsigned kMostPassed = 64;
constexpr mode_t kSocketMode = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP;

std::optional<unsigned> number_of(const char* text) {
    unsigned number = 0;
    const std::string_view digits = text == nullptr ? "" : text;
    const char* end = digits.data() + digits.size();
    const auto [rest, error] = std::from_chars(digits.data(), end, number);
    return error == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

Result<sockaddr_un> unix_address(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path) || path.contains('\0')) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("server.unix_socket: the path is longer than {} bytes",
                                sizeof(address.sun_path) - 1));
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return address;
}

const sockaddr* plain(const sockaddr_un& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}

// Removes the socket of a server that is gone. Nobody accepts there if connecting is refused.
Result<void> clear_way(const std::string& path, const sockaddr_un& address) {
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0) {
        return {};
    }
    if (!S_ISSOCK(status.st_mode)) {
        return fail(ErrorCode::Conflict,
                    fmt::format("server.unix_socket: {} is there and is no socket", path));
    }
    const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe.valid()) {
        return fail(system_error("socket"));
    }
    if (::connect(probe.get(), plain(address), sizeof(address)) == 0 || errno != ECONNREFUSED) {
        return fail(ErrorCode::Conflict,
                    fmt::format("server.unix_socket: another program listens on {}", path));
    }
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
        return fail(system_error(fmt::format("remove the old socket {}", path)));
    }
    return {};
}

std::string text_of(const sockaddr_storage& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address.ss_family == AF_INET) {
        const auto* ipv4 = reinterpret_cast<const sockaddr_in*>(&address);
        ::inet_ntop(AF_INET, &ipv4->sin_addr, text.data(), text.size());
        return text.data();
    }
    const auto* ipv6 = reinterpret_cast<const sockaddr_in6*>(&address);
    if (IN6_IS_ADDR_V4MAPPED(&ipv6->sin6_addr)) {
        ::inet_ntop(AF_INET, &ipv6->sin6_addr.s6_addr[12], text.data(), text.size());
    } else {
        ::inet_ntop(AF_INET6, &ipv6->sin6_addr, text.data(), text.size());
    }
    return text.data();
}

}  // namespace

Peer peer_of(Socket& socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    if (::getpeername(socket.native_handle(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        return {.address = "unknown"};  // it has hung up already
    }
    if (address.ss_family == AF_UNIX) {
        return {.address = "unix", .arrival = access::Arrival::UnixSocket};
    }
    return {.address = text_of(address)};
}

Result<Listener> Listener::open_tcp(const asio::any_io_executor& executor,
                                    const config::ListenAddress& address) {
    error_code error;
    // Numbers only: looking up a name would ask somebody else where we are to listen.
    const std::string host = address.host.empty()          ? "0.0.0.0"
                             : address.host == "localhost" ? "127.0.0.1"
                                                           : address.host;
    const tcp::endpoint endpoint(asio::ip::make_address(host, error), address.port);
    if (error) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("cannot listen on \"{}\": use localhost or a numeric address of "
                                "this host",
                                host));
    }
    Listener listener(executor, endpoint.protocol().family());
    Acceptor& acceptor = listener.acceptor_;
    acceptor.open(endpoint.protocol(), error);
    if (!error) {
        acceptor.set_option(Acceptor::reuse_address(true), error);
    }
    if (!error) {
        acceptor.bind(asio::generic::stream_protocol::endpoint(endpoint), error);
    }
    if (!error) {
        acceptor.listen(Acceptor::max_listen_connections, error);
    }
    if (error == asio::error::address_in_use) {
        return fail(ErrorCode::Conflict,
                    fmt::format("{} is in use already; stop the other program or choose another "
                                "address with --listen",
                                config::format_listen_address(address)));
    }
    if (error) {
        return fail(ErrorCode::Unavailable,
                    fmt::format("cannot listen on {}: {}", config::format_listen_address(address),
                                error.message()));
    }
    return listener;
}

Result<Listener> Listener::open_unix(const asio::any_io_executor& executor,
                                     const std::string& path) {
    BJ_TRY(const sockaddr_un address, unix_address(path));
    BJ_TRY_VOID(clear_way(path, address));
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket.valid()) {
        return fail(system_error("socket"));
    }
    // The mode is right from the start: nobody else can connect before it is set.
    const mode_t before = ::umask(~kSocketMode & 0777U);
    const bool bound = ::bind(socket.get(), plain(address), sizeof(address)) == 0;
    const int reason = errno;
    ::umask(before);
    if (!bound) {
        errno = reason;
        return fail(system_error(fmt::format("server.unix_socket: bind {}", path)));
    }
    if (::listen(socket.get(), SOMAXCONN) != 0) {
        return fail(system_error("listen"));
    }
    Result<Listener> listener = adopt(executor, std::move(socket));
    if (listener) {
        listener->path_ = path;
    }
    return listener;
}

Result<Listener> Listener::adopt(const asio::any_io_executor& executor, Fd socket) {
    int listening = 0;
    int type = 0;
    int family = 0;
    socklen_t size = sizeof(int);
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &family, &size) != 0 ||
        ::getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &size) != 0 ||
        ::getsockopt(socket.get(), SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0) {
        return fail(system_error("a descriptor that was passed to the server is no socket"));
    }
    const bool known = family == AF_UNIX || family == AF_INET || family == AF_INET6;
    if (!known || type != SOCK_STREAM || listening == 0) {
        return fail(ErrorCode::InvalidArgument,
                    "a socket that was passed to the server must be a listening stream socket");
    }
    Listener listener(executor, family);
    error_code error;
    listener.acceptor_.assign(asio::generic::stream_protocol(family, 0), socket.get(), error);
    if (error) {
        return fail(ErrorCode::Unavailable, "a socket cannot be used: " + error.message());
    }
    static_cast<void>(socket.release());  // the acceptor's now
    return listener;
}

bool Listener::is_local() const {
    error_code error;
    const auto endpoint = acceptor_.local_endpoint(error);
    sockaddr_storage address{};
    std::memcpy(&address, endpoint.data(), std::min(endpoint.size(), sizeof(address)));
    return is_unix() || (!error && config::is_loopback({.host = text_of(address), .port = 0}));
}

unsigned short Listener::port() const {
    error_code error;
    const auto endpoint = acceptor_.local_endpoint(error);
    if (error || is_unix()) {
        return 0;
    }
    // Both families have it at the same place.
    return ntohs(reinterpret_cast<const sockaddr_in*>(endpoint.data())->sin_port);
}

Result<void> Listener::give_to(uid_t user, gid_t group) const {
    if (!path_.empty() && ::lchown(path_.c_str(), user, group) != 0) {
        return fail(system_error("give the Unix socket to the server's account"));
    }
    return {};
}

void Listener::close() {
    error_code ignored;
    if (acceptor_.is_open() && !path_.empty()) {
        ::unlink(path_.c_str());
    }
    acceptor_.close(ignored);
}

Result<std::vector<Fd>> take_passed_sockets() {
    const std::optional<unsigned> process = number_of(std::getenv("LISTEN_PID"));
    const std::optional<unsigned> count = number_of(std::getenv("LISTEN_FDS"));
    for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) {
        ::unsetenv(name);
    }
    std::vector<Fd> sockets;
    if (!process || !count || *process != static_cast<unsigned>(::getpid())) {
        return sockets;
    }
    if (*count > kMostPassed) {
        return fail(ErrorCode::InvalidArgument, "LISTEN_FDS passes more sockets than are taken");
    }
    for (int number = kFirstPassed; number < kFirstPassed + static_cast<int>(*count); ++number) {
        if (::fcntl(number, F_SETFD, FD_CLOEXEC) != 0) {
            return fail(system_error("LISTEN_FDS names a descriptor that is not open"));
        }
        sockets.emplace_back(number);
    }
    return sockets;
}

}  // namespace belljar::transport
