#include "transport/stdio_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace belljar::transport {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
constexpr auto kFarewellTime = std::chrono::seconds(5);

// A reader that takes nothing for this long is taken for gone.
constexpr int kWriteMilliseconds = 60'000;

Fd duplicate(int number) { return Fd(::fcntl(number, F_DUPFD_CLOEXEC, 3)); }

}  // namespace

StdioChannel::StdioChannel(const asio::any_io_executor& executor, mcp::StdioSession& session,
                           Options options, const Log& log)
    : session_(session),
      options_(options),
      input_(duplicate(STDIN_FILENO)),
      output_(duplicate(STDOUT_FILENO)),
      readable_(Readiness::create(executor, input_)),
      requests_(executor, log) {}

Task<void> StdioChannel::run() {
    while (!stopped_) {
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
    session_.cancel_all();
    co_await requests_.wait(Clock::now() + kFarewellTime);
}

void StdioChannel::stop() {
    stopped_ = true;
    if (readable_) {
        readable_->cancel();
    }
    session_.cancel_all();
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
        write_line(session_.refuse_long_line(options_.line_limit));
    }
}

Task<void> StdioChannel::answer(std::string line) {
    std::optional<std::string> text = co_await session_.handle_line(std::move(line));
    if (text) {
        write_line(std::move(*text));
    }
}

// Blocks the one client there is until it has taken its answer, but not for ever.
void StdioChannel::write_line(std::string line) {
    line += '\n';
    std::string_view rest = line;
    while (!rest.empty() && !stopped_) {
        const ssize_t written = ::write(output_.get(), rest.data(), rest.size());
        if (written >= 0) {
            rest.remove_prefix(static_cast<std::size_t>(written));
            continue;
        }
        pollfd entry{.fd = output_.get(), .events = POLLOUT, .revents = 0};
        const bool can_wait = errno == EAGAIN && ::poll(&entry, 1, kWriteMilliseconds) == 1;
        if (!can_wait && errno != EINTR) {
            stop();
        }
    }
}

}  // namespace belljar::transport
