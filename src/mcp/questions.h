#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/task.h"
#include "engine/cancellation.h"
#include "mcp/json_rpc.h"

namespace belljar::mcp {

// Puts a request to the client, on the way that leads there; false if there is none any more.
using SendQuestion = std::function<bool(std::string)>;

// What is asked of one legacy client, and its answers, which come as messages of their own. Used on
// the I/O thread only; shared with whoever waits for an answer.
class Questions : public std::enable_shared_from_this<Questions> {
   public:
    // A person may have to think about it.
    static constexpr auto kPatience = std::chrono::minutes(10);
    static constexpr std::size_t kMost = 16;

    struct Question {
        std::string method{};
        json::object params{};
    };

    // The result, or why there is none: the client's own error, no answer in time, cancelled.
    Task<RpcResult<json::value>> ask(Question question, SendQuestion send,
                                     engine::CancellationPtr cancellation);
    // A response of the client; one to something that was never asked is nobody's.
    void take(Message response);

   private:
    struct Open {
        explicit Open(const asio::any_io_executor& executor) : answered(executor) {}
        asio::steady_timer answered;
        std::optional<Message> response{};
    };

    std::map<std::string, std::shared_ptr<Open>> open_;
    std::uint64_t next_ = 1;
};

using QuestionsPtr = std::shared_ptr<Questions>;

}  // namespace belljar::mcp
