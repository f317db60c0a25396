#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "access/http_message.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "base/task.h"
#include "base/task_group.h"
#include "config/listen_address.h"
#include "engine/cancellation.h"

namespace belljar::transport {

// HTTP/1.1 on one I/O thread. Bounded everywhere: connections, header and body sizes, and the time
// each part of a request may take. A client that hangs up cancels the request it was waiting for.
// A client that reads a stream slowly delays nobody but itself.
class HttpServer {
   public:
    using Handler =
        std::function<Task<access::HttpResponse>(access::HttpRequest, engine::CancellationPtr)>;

    // Looks at a request whose body is not read yet. Returns the refusal, if there is one.
    using Precheck = std::function<std::optional<access::HttpResponse>(const access::HttpRequest&)>;

    struct Options {
        Bytes body_limit = mebibytes(16);
        std::size_t connections = 1024;
        Precheck precheck{};
        Duration keep_alive = std::chrono::seconds(15);  // of silence in a stream at most
    };

    // Binds at once, so that a privileged port can be had before privileges are dropped. Conflict
    // if somebody else listens there.
    static Result<asio::ip::tcp::acceptor> listen(const asio::any_io_executor& executor,
                                                  const config::ListenAddress& address);

    HttpServer(asio::ip::tcp::acceptor acceptor, Handler handler, Options options, const Log& log);

    // Accepts until stop().
    Task<void> run();
    // Accepts nothing new, cancels what is running, and closes what is idle.
    void stop();
    // Until every connection is closed, or the deadline.
    Task<void> wait(TimePoint deadline);

   private:
    class Connection;

    Task<void> serve(asio::ip::tcp::socket socket);

    asio::ip::tcp::acceptor acceptor_;
    Handler handler_;
    Options options_;
    const Log& log_;
    TaskGroup connections_;
    TaskGroup writers_;  // of streams; each is awaited by its connection
    std::set<Connection*> open_;
    bool stopping_ = false;
};

}  // namespace belljar::transport
