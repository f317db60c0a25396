#pragma once

#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/error.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "access/http_message.h"
#include "base/clock.h"
#include "base/task.h"
#include "transport/listener.h"

namespace belljar::transport {

// The bytes of one connection, in clear text or through TLS. For Beast it is a stream; every wait
// has the deadline that was set last.
class Wire {
   public:
    using Plain = boost::beast::basic_stream<asio::generic::stream_protocol>;
    using Tls = asio::ssl::stream<Plain&>;
    using Error = boost::beast::error_code;
    using executor_type = Plain::executor_type;

    explicit Wire(Socket socket);

    [[nodiscard]] executor_type get_executor() { return plain_.get_executor(); }
    [[nodiscard]] Socket& socket() { return plain_.socket(); }
    [[nodiscard]] bool encrypted() const { return tls_ != nullptr; }

    void expires_after(Duration time) { plain_.expires_after(time); }
    void expires_at(TimePoint deadline) { plain_.expires_at(deadline); }
    void expires_never() { plain_.expires_never(); }

    template <typename Buffers, typename Token>
    auto async_read_some(const Buffers& buffers, Token&& token) {
        return tls_ ? tls_->async_read_some(buffers, std::forward<Token>(token))
                    : plain_.async_read_some(buffers, std::forward<Token>(token));
    }
    template <typename Buffers, typename Token>
    auto async_write_some(const Buffers& buffers, Token&& token) {
        return tls_ ? tls_->async_write_some(buffers, std::forward<Token>(token))
                    : plain_.async_write_some(buffers, std::forward<Token>(token));
    }

    // From now on everything is encrypted.
    Task<Error> shake_hands(std::shared_ptr<asio::ssl::context> context, Duration time);
    // Until there is something to read, without a buffer that waits with us. With TLS at once.
    Task<Error> wait_for_input(Duration time);
    // Never more than was promised; an error if the file has less. Each piece has `time`.
    Task<Error> send_file(const access::FilePart* part, Duration time);
    // Says that nothing more comes, and throws away what the client still sends, within bounds: a
    // socket that is closed with unread data in it is reset, and the client may never see the
    // answer.
    Task<void> linger(Duration time);
    // Lets the client know that this is the end and not a cut.
    Task<void> say_goodbye(Duration time);

    // Ends the operations that are under way.
    void cancel();
    // Also those that follow.
    void abort();
    void close() { plain_.close(); }
    // Closed or reset. A client that sends more already is still there.
    [[nodiscard]] bool has_hung_up();

   private:
    // One timer serves many waits: it stays set when one ends, and is set anew when it is too early
    // for the one under way.
    struct Wait {
        std::optional<TimePoint> deadline{};  // of the wait under way
        std::optional<TimePoint> timer{};     // when the timer will look
    };

    Task<Error> send_by_kernel(const access::FilePart* part, Duration time);
    Task<Error> send_by_copy(const access::FilePart* part, Duration time);
    Task<Error> wait(Socket::wait_type what, Duration time);
    void watch_deadline();

    Plain plain_;
    std::shared_ptr<asio::ssl::context> context_;  // as long as the connection uses it
    std::unique_ptr<Tls> tls_;
    bool aborted_ = false;
    asio::steady_timer late_;
    std::shared_ptr<Wait> wait_ = std::make_shared<Wait>();  // the timer looks at it, perhaps late
};

}  // namespace belljar::transport
