#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/task.h"
#include "mcp/dispatcher.h"
#include "mcp/in_flight.h"
#include "mcp/json_rpc.h"
#include "mcp/questions.h"
#include "mcp/stdio_era.h"

namespace belljar::mcp {

// One connection that carries messages in both directions: stdio, or HTTP with server-sent events.
// Borrows the dispatcher and the changes; used on the I/O thread only, and outlives every coroutine
// it hands out.
class Connection {
   public:
    // Who sends a message. The principal is the same as long as the connection lasts; what it may
    // do can be another with each message.
    struct Sender {
        access::Rights rights{};
        access::Origin origin{};
        std::optional<access::TraceContext> trace{};
    };

    Connection(Dispatcher& dispatcher, Changes& changes, std::string principal = {});
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    // Notifications and questions go to `notify`, answers come back from handle().
    void on_notification(Notify notify) { notify_ = std::move(notify); }

    // The answer to one message, or to a batch; nothing for notifications, blank text and cancelled
    // requests. May be called again while earlier messages are still being answered.
    Task<std::optional<std::string>> handle(std::string text, Sender sender);
    // Of whoever has started this process, and may do everything.
    Task<std::optional<std::string>> handle(std::string text);

    // What to answer to a message that is too long to be read.
    [[nodiscard]] std::string refuse_long_message(Bytes limit) const;

    // Ends every request in flight; none of them is answered.
    void cancel_all() { in_flight_.cancel_all(); }

   private:
    Task<std::optional<std::string>> handle_message(json::value value, Sender sender);
    Task<std::optional<std::string>> handle_element(json::value value, Sender sender);
    Task<std::optional<std::string>> handle_batch(json::array batch, Sender sender);
    Task<std::optional<std::string>> handle_parsed(Message message, Sender sender);
    Task<std::optional<std::string>> handle_request(Message request, Sender sender);
    [[nodiscard]] Notify notify_for(const engine::CancellationPtr& cancellation) const;
    void handle_notification(const Message& notification);
    void tell(const Change& change);
    [[nodiscard]] std::optional<json::value> unreadable_id() const;

    Dispatcher& dispatcher_;
    std::string principal_;
    StdioEra era_;
    ConnectionMemory memory_;
    QuestionsPtr questions_ = std::make_shared<Questions>();
    Notify notify_;
    InFlight in_flight_;
    Changes::Subscription changes_;
};

}  // namespace belljar::mcp
