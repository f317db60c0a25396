#include "transport/wire.h"

#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <vector>

namespace belljar::transport {
namespace {

constexpr std::size_t kKernelPiece = 1024 * 1024;
constexpr std::size_t kCopyPiece = 64 * 1024;
constexpr unsigned kPiecesInARow = 4;  // before other connections have their turn
constexpr std::size_t kLingerPiece = 16 * 1024;
constexpr std::size_t kLingerLimit = 64 * 1024 * 1024;

Wire::Error system_code(int number) { return {number, boost::system::system_category()}; }

}  // namespace

Wire::Wire(Socket socket) : plain_(std::move(socket)), late_(plain_.get_executor()) {
    Error ignored;
    plain_.socket().native_non_blocking(true, ignored);
}

Task<Wire::Error> Wire::shake_hands(std::shared_ptr<asio::ssl::context> context, Duration time) {
    context_ = std::move(context);
    tls_ = std::make_unique<Tls>(plain_, *context_);
    Error error;
    expires_after(time);
    co_await tls_->async_handshake(asio::ssl::stream_base::server,
                                   asio::redirect_error(asio::use_awaitable, error));
    co_return error;
}

Task<Wire::Error> Wire::wait_for_input(Duration time) {
    if (encrypted()) {
        co_return Error{};  // what was read of the socket may wait decrypted
    }
    const Error error = co_await wait(Socket::wait_read, time);
    co_return error;
}

Task<Wire::Error> Wire::wait(Socket::wait_type what, Duration time) {
    wait_->deadline = Clock::now() + time;
    if (!wait_->timer || *wait_->timer > *wait_->deadline) {
        watch_deadline();
    }
    Error error;
    co_await plain_.socket().async_wait(what, asio::redirect_error(asio::use_awaitable, error));
    wait_->deadline.reset();
    co_return error;
}

void Wire::watch_deadline() {
    wait_->timer = wait_->deadline;
    late_.expires_at(*wait_->timer);
    late_.async_wait([this, shared = std::weak_ptr(wait_)](const Error& error) {
        const std::shared_ptr<Wait> wait = shared.lock();
        if (error || !wait) {
            return;
        }
        wait->timer.reset();
        if (wait->deadline && *wait->deadline > Clock::now()) {
            watch_deadline();
        } else if (wait->deadline) {
            Error ignored;
            plain_.socket().cancel(ignored);
        }
    });
}

Task<Wire::Error> Wire::send_file(const access::FilePart* part, Duration time) {
    if (encrypted()) {
        const Error error = co_await send_by_copy(part, time);
        co_return error;
    }
    const Error error = co_await send_by_kernel(part, time);
    co_return error;
}

Task<Wire::Error> Wire::send_by_kernel(const access::FilePart* part, Duration time) {
    auto offset = static_cast<off_t>(part->offset);
    std::uint64_t left = part->length;
    unsigned in_a_row = 0;
    while (left > 0 && !aborted_) {
        const ssize_t count = ::sendfile(plain_.socket().native_handle(), part->file.get(), &offset,
                                         std::min<std::uint64_t>(left, kKernelPiece));
        if (count > 0) {
            left -= static_cast<std::uint64_t>(count);
            if (++in_a_row % kPiecesInARow == 0) {
                co_await asio::post(get_executor(), asio::use_awaitable);
            }
            continue;
        }
        if (count == 0) {
            co_return system_code(EIO);  // the file has become shorter
        }
        if (errno != EAGAIN && errno != EINTR) {
            co_return system_code(errno);
        }
        const Error error = co_await wait(Socket::wait_write, time);
        if (error) {
            co_return error;
        }
    }
    co_return aborted_ ? Error(asio::error::operation_aborted) : Error{};
}

Task<Wire::Error> Wire::send_by_copy(const access::FilePart* part, Duration time) {
    std::vector<char> buffer(kCopyPiece);
    Error error;
    for (std::uint64_t sent = 0; !error && sent < part->length;) {
        const std::size_t wanted = std::min<std::uint64_t>(buffer.size(), part->length - sent);
        const ssize_t count = ::pread(part->file.get(), buffer.data(), wanted,
                                      static_cast<off_t>(part->offset + sent));
        if (count <= 0) {
            co_return system_code(EIO);
        }
        sent += static_cast<std::uint64_t>(count);
        expires_after(time);
        co_await asio::async_write(*this,
                                   asio::buffer(buffer.data(), static_cast<std::size_t>(count)),
                                   asio::redirect_error(asio::use_awaitable, error));
    }
    co_return error;
}

Task<void> Wire::linger(Duration time) {
    Error error;
    if (encrypted()) {
        co_await say_goodbye(time);
    }
    plain_.socket().shutdown(Socket::shutdown_send, error);
    expires_after(time);
    std::vector<char> nowhere(kLingerPiece);
    for (std::size_t drained = 0; !error && drained < kLingerLimit;) {
        drained += co_await plain_.async_read_some(
            asio::buffer(nowhere), asio::redirect_error(asio::use_awaitable, error));
    }
}

Task<void> Wire::say_goodbye(Duration time) {
    if (!encrypted()) {
        co_return;
    }
    Error ignored;
    expires_after(time);
    co_await tls_->async_shutdown(asio::redirect_error(asio::use_awaitable, ignored));
}

void Wire::cancel() {
    Error ignored;
    plain_.socket().cancel(ignored);
}

void Wire::abort() {
    aborted_ = true;
    cancel();
}

bool Wire::has_hung_up() {
    const int number = plain_.socket().native_handle();
    if (encrypted()) {
        // The farewell of TLS is data to the socket; the end comes behind it.
        pollfd state{.fd = number, .events = POLLRDHUP, .revents = 0};
        return ::poll(&state, 1, 0) > 0;
    }
    char next = 0;
    const ssize_t count = ::recv(number, &next, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace belljar::transport
