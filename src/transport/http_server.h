#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "access/http_message.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "base/task.h"
#include "base/task_group.h"
#include "config/address_range.h"
#include "engine/cancellation.h"
#include "transport/http_head.h"
#include "transport/listener.h"
#include "transport/tls_files.h"

namespace belljar::transport {

class HttpConnection;

// HTTP/1.1 on one I/O thread, over TCP, TLS and Unix sockets. Bounded everywhere: connections,
// header and body sizes, and the time each part of a request may take. A client that hangs up
// cancels the request it was waiting for. A client that reads a stream slowly delays nobody but
// itself.
class HttpServer {
   public:
    using Handler =
        std::function<Task<access::HttpResponse>(access::HttpRequest, engine::CancellationPtr)>;

    // Looks at a request whose body is not read yet. Returns the refusal, if there is one.
    using Precheck = std::function<std::optional<access::HttpResponse>(const access::HttpRequest&)>;

    // Looks at a request that has passed the precheck. Nothing: the usual limit, in memory.
    using BodyPlanner = std::function<std::optional<access::BodyPlan>(const access::HttpRequest&)>;

    // How long a client may take.
    struct Times {
        Duration idle = std::chrono::seconds(60);       // between two requests
        Duration handshake = std::chrono::seconds(10);  // of TLS
        Duration head = std::chrono::seconds(15);       // from its first byte to its last
        Duration body = std::chrono::seconds(60);       // and more for what comes at body_rate
        Duration write = std::chrono::seconds(60);      // for each piece of an answer
    };

    struct Options {
        Bytes body_limit = mebibytes(16);
        std::size_t connections = 1024;
        Precheck precheck{};
        Duration keep_alive = std::chrono::seconds(15);  // of silence in a stream at most
        std::size_t connections_each = 0;                // of one address; 0: as many as there are
        HeadLimits head{};
        Times times{};
        Bytes body_rate = kibibytes(4);  // in a second, at least, once the time for a body is over
        BodyPlanner body_of{};
        const Fd* spool = nullptr;  // directory for bodies that go into files; borrowed
        std::vector<config::AddressRange> trusted_proxies{};
    };

    HttpServer(const asio::any_io_executor& executor, Handler handler, Options options,
               const Log& log);
    ~HttpServer();

    // `tls` is borrowed; nullptr: in clear text.
    void add(Listener listener, TlsFiles* tls = nullptr);
    // From now on, for new connections and requests.
    void change(const std::function<void(Options&)>& change) { change(options_); }
    [[nodiscard]] const Options& options() const { return options_; }

    // Accepts until drain() or stop().
    Task<void> run();
    // Accepts no new connections. What runs may go on; each answer from now on says that its
    // connection is closed.
    void drain();
    [[nodiscard]] bool is_draining() const { return draining_; }
    // Whether somebody still waits for an answer; streams that end only when asked to do not count.
    [[nodiscard]] bool is_busy() const;
    // Accepts nothing new, cancels what is running, and closes what is idle.
    void stop();
    // Until every connection is closed, or the deadline.
    Task<void> wait(TimePoint deadline);
    [[nodiscard]] std::size_t connections() const { return open_.size(); }

   private:
    friend class HttpConnection;

    struct Door {
        Listener listener;
        TlsFiles* tls = nullptr;
    };

    Task<void> accept_at(Door* door);
    void admit(Socket socket, TlsFiles* tls);
    Task<void> serve(Socket socket, Peer peer, TlsFiles* tls);
    // Its request is watched for a hang-up if it is still under way in a moment: to begin and end
    // a watch takes longer than many an answer.
    void watch_soon(HttpConnection* connection);

    asio::any_io_executor executor_;
    Handler handler_;
    Options options_;
    const Log& log_;
    TaskGroup connections_;
    TaskGroup writers_;  // of streams; each is awaited by its connection
    TaskGroup accepting_;
    std::vector<std::unique_ptr<Door>> doors_;
    std::set<HttpConnection*> open_;
    std::set<HttpConnection*> unwatched_;  // of the open ones, those that the next look is for
    std::shared_ptr<asio::steady_timer> next_look_;
    std::map<std::string, std::size_t> by_address_;
    bool draining_ = false;
    bool stopping_ = false;
};

}  // namespace belljar::transport
