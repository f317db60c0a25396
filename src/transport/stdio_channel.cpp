#include "transport/stdio_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

namespace belljar::transport {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
constexpr auto kFarewellTime = std::chrono::seconds(5);

// A reader that takes nothing for this long is taken for gone.
constexpr auto kWriteTime = std::chrono::seconds(60);

// A pipe that is ready takes this much without making the writer wait.
constexpr std::size_t kWriteChunk = 4096;

// Of answers that wait, beyond which no more requests are read.
constexpr std::size_t kMostWaiting = 1024 * 1024;

Fd duplicate(int number) { return Fd(::fcntl(number, F_DUPFD_CLOEXEC, 3)); }

}  // namespace

StdioChannel::StdioChannel(const asio::any_io_executor& executor, mcp::Connection& connection,
                           Options options, const Log& log)
    : connection_(connection),
      options_(options),
      input_(duplicate(STDIN_FILENO)),
      output_(duplicate(STDOUT_FILENO)),
      readable_(Readiness::create(executor, input_)),
      writable_(Readiness::create(executor, output_, Readiness::For::Writing)),
      requests_(executor, log),
      writers_(executor, log),
      room_(executor) {
    connection_.on_notification([this](const std::string& line) { return offer_line(line); });
}

Task<void> StdioChannel::run() {
    while (!stopped_) {
        co_await await_room();
        const bool more = co_await read_more();
        if (!more && !buffer_.empty()) {
            buffer_ += '\n';  // a last line without its newline counts too
        }
        take_lines();
        if (!more) {
            break;
        }
    }
    // A client that closes its end after the last request still wants the answers to those sent.
    requests_.close();
    co_await requests_.wait(Clock::now() + (stopped_ ? Duration{} : Duration(kFarewellTime)));
    connection_.cancel_all();
    co_await requests_.wait(Clock::now() + kFarewellTime);
    co_await writers_.wait(Clock::now() + kWriteTime);
}

void StdioChannel::stop() {
    stopped_ = true;
    if (readable_) {
        readable_->cancel();
    }
    if (writable_) {
        writable_->cancel();
    }
    room_.cancel();
    connection_.cancel_all();
}

// False at the end of the input.
Task<bool> StdioChannel::read_more() {
    if (!readable_) {
        co_return false;
    }
    const bool ready = co_await readable_->wait();
    if (!ready) {
        co_return false;
    }
    std::array<char, kChunk> chunk{};
    const ssize_t count = ::read(input_.get(), chunk.data(), chunk.size());
    if (count > 0) {
        buffer_.append(chunk.data(), static_cast<std::size_t>(count));
    }
    co_return count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN));
}

void StdioChannel::take_lines() {
    std::size_t begin = 0;
    while (true) {
        const std::size_t end = buffer_.find('\n', begin);
        if (end == std::string::npos) {
            break;
        }
        if (!std::exchange(skipping_, false)) {
            requests_.spawn("request", answer(buffer_.substr(begin, end - begin)));
        }
        begin = end + 1;
    }
    buffer_.erase(0, begin);
    if (buffer_.size() > options_.line_limit.count) {
        buffer_.clear();
        skipping_ = true;
        write_line(connection_.refuse_long_message(options_.line_limit));
    }
}

Task<void> StdioChannel::answer(std::string line) {
    std::optional<std::string> text = co_await connection_.handle(std::move(line));
    if (text) {
        write_line(*text);
    }
}

void StdioChannel::write_line(const std::string& line) {
    outgoing_ += line;
    outgoing_ += '\n';
    write_what_fits();
    if (!outgoing_.empty() && writers_.running() == 0 && !stopped_) {
        writers_.spawn("writer", write_rest());
    }
}

bool StdioChannel::offer_line(const std::string& line) {
    if (outgoing_.size() + line.size() > options_.notification_limit.count) {
        return false;
    }
    write_line(line);
    return true;
}

// Never waits: the descriptor may be a blocking one, but it is asked before each piece.
void StdioChannel::write_what_fits() {
    std::size_t written = 0;
    while (written < outgoing_.size() && !stopped_) {
        pollfd entry{.fd = output_.get(), .events = POLLOUT, .revents = 0};
        if (::poll(&entry, 1, 0) != 1) {
            break;
        }
        const std::size_t wanted = std::min(outgoing_.size() - written, kWriteChunk);
        const ssize_t count = ::write(output_.get(), outgoing_.data() + written, wanted);
        if (count >= 0) {
            written += static_cast<std::size_t>(count);
        } else if (errno == EAGAIN || errno == EINTR) {
            break;
        } else {
            stop();
        }
    }
    outgoing_.erase(0, written);
    if (outgoing_.size() <= kMostWaiting) {
        room_.cancel();
    }
}

Task<void> StdioChannel::write_rest() {
    asio::steady_timer alarm(room_.get_executor());
    while (!outgoing_.empty() && !stopped_) {
        if (!writable_) {
            stop();
            co_return;
        }
        alarm.expires_after(kWriteTime);
        alarm.async_wait([this](const boost::system::error_code& error) {
            if (!error) {
                stop();
            }
        });
        const bool ready = co_await writable_->wait();
        alarm.cancel();
        if (ready) {
            write_what_fits();
        }
    }
}

Task<void> StdioChannel::await_room() {
    while (outgoing_.size() > kMostWaiting && !stopped_) {
        boost::system::error_code ignored;
        room_.expires_after(kWriteTime);
        co_await room_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
}

}  // namespace belljar::transport
