#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "access/response_stream.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "mcp/event_log.h"

namespace belljar::mcp {

// What one request of a session, or the session as a whole, has to tell, and the connection that it
// is told on. The connection may end before there is an answer; the client then comes back on
// another, and gets what it has missed. Used on the I/O thread only; shared by the request and the
// connections.
class SessionStream {
   public:
    // Whether a new stream begins with an event of its own, which tells the client where it is
    // before there is anything to say.
    enum class Priming { Without, With };
    // How long a connection stays silent at most.
    static constexpr auto kSilence = std::chrono::seconds(5);

    SessionStream(const asio::any_io_executor& executor, std::uint64_t number, EventLog& log,
                  Priming priming);

    // Everything goes to this connection from now on, the last one ends.
    void attach(access::ResponseStreamPtr connection);
    // What the client has missed, then what comes.
    void resume(access::ResponseStreamPtr connection, EventPlace last);
    // The client comes back later: the connection ends, with the request to do so soon.
    void hang_up();

    // Before the answer. False if it went nowhere, or the client does not keep up.
    bool tell(const std::string& message);
    // What a client must not miss. False if nobody will ever hear of it.
    bool ask(const std::string& message);
    // The last thing that is said here.
    void answer(std::string message);
    // Nobody waits for anything here any more.
    void close();

    // Until the connection is of no use any more: answered, taken over by another, hung up. When
    // there has been nothing to say for a while, the stream begins, so that it does not look dead
    // and the client knows where to come back to.
    Task<void> serve(access::ResponseStreamPtr connection, engine::CancellationPtr hung_up);

    // The answer, if it is still to be sent and nothing was told before it.
    [[nodiscard]] std::optional<std::string> take_plain_answer();
    [[nodiscard]] bool is_attached() const { return connection_ != nullptr; }
    [[nodiscard]] bool has_begun() const { return opened_; }
    [[nodiscard]] bool is_over() const { return over_; }
    [[nodiscard]] std::uint64_t number() const { return number_; }

    // Begins the stream of events on its connection, if it has not begun.
    void open();

   private:
    void detach();
    void keep(const std::string& message);

    asio::steady_timer detached_;  // whoever serves a connection waits for its cancellation
    std::uint64_t number_;
    EventLog& log_;
    Priming priming_;
    access::ResponseStreamPtr connection_;
    std::uint64_t last_ = 0;  // event so far
    bool opened_ = false;     // as a stream of events, on whatever connection
    bool over_ = false;
    std::optional<std::string> plain_answer_;
};

using SessionStreamPtr = std::shared_ptr<SessionStream>;

}  // namespace belljar::mcp
