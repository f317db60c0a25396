#pragma once

#include <map>
#include <memory>
#include <string>

#include "access/http_message.h"
#include "base/log.h"
#include "base/task.h"
#include "base/task_group.h"
#include "mcp/connection.h"

namespace belljar::mcp {

// HTTP with server-sent events, as revision 2024-11-05 had it: one GET that stays open and on which
// everything is said, and a POST for each message to the server. Used on the I/O thread only.
class SseConnections {
   public:
    static constexpr std::size_t kMost = 1024;

    SseConnections(asio::any_io_executor executor, const Log& log, Dispatcher& dispatcher,
                   Changes& changes)
        : executor_(std::move(executor)),
          dispatcher_(dispatcher),
          changes_(changes),
          requests_(executor_, log) {}

    // GET /mcp/sse: until the client hangs up.
    Task<access::HttpResponse> open(access::HttpRequest request,
                                    engine::CancellationPtr cancellation);
    // POST /mcp/messages?sessionId=...
    [[nodiscard]] access::HttpResponse take(access::HttpRequest request);

    void stop();
    Task<void> wait(asio::steady_timer::time_point deadline);

   private:
    struct Open {
        std::string principal{};
        std::unique_ptr<Connection> connection{};
        access::ResponseStreamPtr stream{};
        engine::CancellationPtr hung_up{};
    };
    using OpenPtr = std::shared_ptr<Open>;

    static Task<void> answer(OpenPtr open, access::HttpRequest request);

    asio::any_io_executor executor_;
    Dispatcher& dispatcher_;
    Changes& changes_;
    TaskGroup requests_;
    std::map<std::string, OpenPtr> open_;
    bool stopping_ = false;
};

}  // namespace belljar::mcp
