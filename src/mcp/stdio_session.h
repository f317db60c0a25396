#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "mcp/json_rpc.h"
#include "mcp/server.h"
#include "mcp/stdio_era.h"

namespace belljar::mcp {

// One connection that carries one message per line. Borrows the server; used on the I/O thread
// only, and outlives every coroutine it hands out.
class StdioSession {
   public:
    // Notifications go to `notify`, answers come back from handle_line().
    explicit StdioSession(Server& server) : server_(server) {}
    void on_notification(Notify notify) { notify_ = std::move(notify); }

    // The answer line without its newline, or nothing for notifications, blank lines and cancelled
    // requests. May be called again while earlier lines are still being answered.
    Task<std::optional<std::string>> handle_line(std::string line);

    // What to answer to a line that is too long to be read.
    [[nodiscard]] std::string refuse_long_line(Bytes limit) const;

    // Ends every request in flight; none of them is answered.
    void cancel_all();

   private:
    using InFlight = std::map<std::string, engine::CancellationPtr, std::less<>>;
    // Removes a request from those in flight when it ends, however it ends.
    class Registration;

    Task<std::optional<std::string>> handle_message(json::value value);
    Task<std::optional<std::string>> handle_element(json::value value);
    Task<std::optional<std::string>> handle_batch(json::array batch);
    Task<std::optional<std::string>> handle_parsed(Message message);
    Task<std::optional<std::string>> handle_request(Message request);
    [[nodiscard]] Notify notify_for(const engine::CancellationPtr& cancellation) const;
    void handle_notification(const Message& notification);
    [[nodiscard]] std::optional<RpcError> find_in_flight_fault(const std::string& key) const;
    [[nodiscard]] std::optional<json::value> unreadable_id() const;

    Server& server_;
    StdioEra era_;
    ConnectionMemory memory_;
    Notify notify_;
    InFlight in_flight_;  // by the JSON text of the id, which keeps 1 and "1" apart
};

}  // namespace belljar::mcp
