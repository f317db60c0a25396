#include "mcp/session_stream.h"

#include <fmt/format.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "access/event_stream.h"

namespace belljar::mcp {
namespace {

// How soon a client whose connection was ended is to come back, in milliseconds.
constexpr int kRetry = 500;

std::string event_text(EventPlace place, std::string message) {
    return access::format_event(
        {.id = format_place(place), .name = "message", .data = std::move(message)});
}

}  // namespace

SessionStream::SessionStream(const asio::any_io_executor& executor, std::uint64_t number,
                             EventLog& log, Priming priming)
    : detached_(executor, asio::steady_timer::time_point::max()),
      number_(number),
      log_(log),
      priming_(priming) {}

void SessionStream::attach(access::ResponseStreamPtr connection) {
    detach();
    connection_ = std::move(connection);
}

void SessionStream::resume(access::ResponseStreamPtr connection, EventPlace last) {
    attach(std::move(connection));
    opened_ = true;
    connection_->open(access::event_stream_head());
    for (EventLog::Event& event : log_.after(last)) {
        connection_->put(event_text(event.place, std::move(event.message)));
    }
    if (over_) {
        detach();
    }
}

void SessionStream::hang_up() {
    if (connection_ == nullptr) {
        return;
    }
    open();
    connection_->put(fmt::format("retry: {}\n\n", kRetry));
    detach();
}

bool SessionStream::tell(const std::string& message) {
    if (over_) {
        return false;
    }
    if (connection_ != nullptr) {
        open();
    }
    keep(message);
    return connection_ == nullptr || connection_->offer(event_text({number_, last_}, message));
}

bool SessionStream::ask(const std::string& message) {
    if (over_) {
        return false;
    }
    if (connection_ != nullptr) {
        open();
    }
    keep(message);
    if (connection_ != nullptr) {
        connection_->put(event_text({number_, last_}, message));
    }
    return true;
}

void SessionStream::answer(std::string message) {
    over_ = true;
    if (connection_ != nullptr && !opened_) {
        plain_answer_ = std::move(message);
    } else {
        keep(message);
        if (connection_ != nullptr) {
            open();
            connection_->put(event_text({number_, last_}, std::move(message)));
        }
    }
    detach();
}

void SessionStream::close() {
    over_ = true;
    detach();
}

Task<void> SessionStream::serve(access::ResponseStreamPtr connection,
                                engine::CancellationPtr hung_up) {
    hung_up->on_request([this] { detached_.cancel(); });
    while (connection_ == connection && !hung_up->requested()) {
        detached_.expires_at(opened_ ? asio::steady_timer::time_point::max()
                                     : std::chrono::steady_clock::now() + kSilence);
        boost::system::error_code woken;
        co_await detached_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
        if (!woken && connection_ == connection) {
            open();
        }
    }
    hung_up->on_request(nullptr);
    if (connection_ == connection) {
        detach();
    }
}

std::optional<std::string> SessionStream::take_plain_answer() {
    return std::exchange(plain_answer_, std::nullopt);
}

void SessionStream::open() {
    opened_ = true;
    if (connection_->is_open()) {
        return;
    }
    connection_->open(access::event_stream_head());
    if (priming_ == Priming::With && last_ == 0) {
        ++last_;
        connection_->put(fmt::format("id: {}\ndata:\n\n", format_place({number_, last_})));
    }
}

void SessionStream::detach() {
    connection_ = nullptr;
    detached_.cancel();
}

void SessionStream::keep(const std::string& message) {
    ++last_;
    log_.add({number_, last_}, message);
}

}  // namespace belljar::mcp
