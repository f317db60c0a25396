#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "access/http_message.h"
#include "base/fd.h"
#include "base/result.h"
#include "base/task.h"
#include "config/listen_address.h"

namespace belljar::transport {

// A connection of whatever family.
using Socket = asio::generic::stream_protocol::socket;

// Who is at the other end.
struct Peer {
    std::string address{};  // numeric; "unix" for a Unix socket
    access::Arrival arrival = access::Arrival::Network;
};

[[nodiscard]] Peer peer_of(Socket& socket);

// A socket that connections come in by. Binds at once, so that it can be had before privileges are
// dropped.
class Listener {
   public:
    using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;

    // Numbers and localhost only. Conflict if somebody else listens there.
    static Result<Listener> open_tcp(const asio::any_io_executor& executor,
                                     const config::ListenAddress& address);
    // For the owner and the group (mode 0660). What is left of an earlier server is replaced;
    // Conflict if somebody listens there, or if it is no socket.
    static Result<Listener> open_unix(const asio::any_io_executor& executor,
                                      const std::string& path);
    // A socket that somebody else has opened and bound.
    static Result<Listener> adopt(const asio::any_io_executor& executor, Fd socket);

    Listener(Listener&&) noexcept = default;
    Listener& operator=(Listener&&) noexcept = default;
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    // Removes the file of a Unix socket that was made here and is still there.
    ~Listener() { close(); }

    [[nodiscard]] Acceptor& acceptor() { return acceptor_; }
    [[nodiscard]] bool is_unix() const { return family_ == AF_UNIX; }
    // Whether only this machine can reach it.
    [[nodiscard]] bool is_local() const;
    // 0 for a Unix socket.
    [[nodiscard]] unsigned short port() const;
    // Gives the file of a Unix socket that was made here to the account of the server.
    Result<void> give_to(uid_t user, gid_t group) const;
    void close();

   private:
    Listener(const asio::any_io_executor& executor, int family)
        : acceptor_(executor), family_(family) {}

    Acceptor acceptor_;
    int family_;
    std::string path_{};  // of a Unix socket that was made here
};

// The sockets that systemd, or whoever started this process, has opened for it, as LISTEN_PID and
// LISTEN_FDS say; none if it was started in another way. Takes those variables out of the
// environment, so that no child believes them.
[[nodiscard]] Result<std::vector<Fd>> take_passed_sockets();

}  // namespace belljar::transport
