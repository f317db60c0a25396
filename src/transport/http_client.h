#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"

namespace belljar::transport {

// Where a server listens: http://host:port, https://host:port or unix:/path/of/socket.
struct ServerAddress {
    enum class Kind { Http, Https, UnixSocket };

    Kind kind = Kind::Http;
    std::string host{};
    std::string port{};
    std::string socket{};

    [[nodiscard]] static Result<ServerAddress> parse(const std::string& url);
};

struct ClientRequest {
    std::string method = "GET";
    std::string target{};
    std::string token{};                                         // empty: none is shown
    std::string body{};                                          // JSON; empty: none
    std::vector<std::pair<std::string, std::string>> headers{};  // further ones
    Bytes largest_answer = mebibytes(64);
    bool clear_only_here = false;  // http to no other machine, whatever the name resolves to
};

struct ClientAnswer {
    unsigned status = 0;
    std::string body{};
};

// One request on a connection of its own. The certificate of an https server must be one that this
// machine trusts, and name the host. Unavailable if nobody answers in time.
Task<Result<ClientAnswer>> ask_server(asio::any_io_executor executor, ServerAddress address,
                                      ClientRequest request, TimePoint deadline);

// Gives up with Cancelled when the timer runs out or is cancelled, on whose executor all happens.
Task<Result<ClientAnswer>> ask_server_unless(asio::steady_timer& stopped, ServerAddress address,
                                             ClientRequest request, TimePoint deadline);

}  // namespace belljar::transport
