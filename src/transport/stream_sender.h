#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <string>

#include "access/response_stream.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/task.h"
#include "base/task_group.h"
#include "transport/wire.h"

namespace belljar::transport {

// Sends an answer that comes into being piece by piece, while its handler goes on. One for each
// stream; borrows everything, and is awaited with end() before any of it goes away.
class StreamSender {
   public:
    struct Manner {
        unsigned version = 0;                // of HTTP: old clients get no chunks
        Duration keep_alive{};               // of silence at most
        Duration time{};                     // for each part, once the handler has ended
        std::function<void()> on_failure{};  // nobody reads any more
    };

    StreamSender(Wire& wire, access::ResponseStreamPtr source, Manner manner, const Log& log);

    void begin(TaskGroup& writers);
    // There is something new to send.
    void notice() { piece_.cancel(); }
    // The handler has ended: the rest is sent, then `farewell`. True if the client has it all and
    // the connection can be used again.
    Task<bool> end(std::string farewell);

   private:
    enum class State { Open, Ending, Done, Failed };

    Task<void> write();
    Task<Wire::Error> write_pieces();
    Task<Wire::Error> write_head();
    Task<Wire::Error> write_piece(std::string piece);
    Task<void> await_piece();

    Wire& wire_;
    access::ResponseStreamPtr source_;
    Manner manner_;
    const Log& log_;
    bool chunked_;
    State state_ = State::Open;
    std::string farewell_;
    std::uint64_t sent_ = 0;
    asio::steady_timer piece_;    // until there is something to send
    asio::steady_timer written_;  // until everything is sent
};

}  // namespace belljar::transport
