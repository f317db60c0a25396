#include "engine/pipe_end.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace belljar::engine {

Result<void> PipeEnd::take(Fd fd) {
    if (::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) {
        return fail(system_error("make a pipe non-blocking"));
    }
    resting_ = std::move(fd);
    return {};
}

Result<void> PipeEnd::watch() {
    if (!resting_.valid()) {
        return {};
    }
    boost::system::error_code error;
    watched_.assign(resting_.get(), error);
    if (error) {
        return fail(system_error("watch a pipe", error.value()));
    }
    [[maybe_unused]] const int owned = resting_.release();
    return {};
}

void PipeEnd::rest() {
    if (watched_.is_open()) {
        resting_ = Fd(watched_.release());
    }
}

void PipeEnd::close() {
    boost::system::error_code ignored;
    watched_.close(ignored);
    resting_.reset();
}

void PipeEnd::cancel() {
    boost::system::error_code ignored;
    watched_.cancel(ignored);
}

int PipeEnd::number() { return resting_.valid() ? resting_.get() : watched_.native_handle(); }

std::size_t PipeEnd::read_now(std::span<char> buffer) {
    const ssize_t count = ::read(number(), buffer.data(), buffer.size());
    return static_cast<std::size_t>(std::max<ssize_t>(count, 0));
}

std::size_t PipeEnd::write_now(std::string_view text) {
    const ssize_t count = ::write(number(), text.data(), text.size());
    return static_cast<std::size_t>(std::max<ssize_t>(count, 0));
}

Task<std::size_t> PipeEnd::read_some(std::span<char> buffer) {
    boost::system::error_code error;
    const std::size_t count =
        co_await watched_.async_read_some(asio::buffer(buffer.data(), buffer.size()),
                                          asio::redirect_error(asio::use_awaitable, error));
    co_return error ? 0 : count;
}

Task<bool> PipeEnd::write_all(std::string_view text) {
    boost::system::error_code error;
    co_await asio::async_write(watched_, asio::buffer(text),
                               asio::redirect_error(asio::use_awaitable, error));
    co_return !error;
}

}  // namespace belljar::engine
