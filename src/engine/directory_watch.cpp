#include "engine/directory_watch.h"

#include <sys/inotify.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/fd.h"

namespace belljar::engine {
namespace {

// One change seldom comes alone.
constexpr Duration kSettle = std::chrono::milliseconds(100);
constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE |
                                  IN_DELETE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF |
                                  IN_ONLYDIR;

}  // namespace

void DirectoryWatch::look_at(const std::vector<std::string>& places) {
    boost::system::error_code error;
    events_.close(error);
    if (stopped_) {
        return;
    }
    Fd events(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (!events.valid()) {
        return;
    }
    for (const std::string& place : places) {
        ::inotify_add_watch(events.get(), place.c_str(), kEvents);
    }
    events_.assign(events.get(), error);
    if (!error) {
        [[maybe_unused]] const int owned = events.release();
    }
}

Task<bool> DirectoryWatch::await_change(Duration at_most) {
    using asio::experimental::awaitable_operators::operator||;
    if (stopped_) {
        co_return false;
    }
    if (!events_.is_open()) {
        co_await rest(at_most);
        co_return true;  // nobody would tell
    }
    boost::system::error_code ignored;
    const auto first =
        co_await (events_.async_wait(asio::posix::stream_descriptor::wait_read,
                                     asio::redirect_error(asio::use_awaitable, ignored)) ||
                  rest(at_most));
    const bool changed = first.index() == 0 && !stopped_;
    if (changed) {
        co_await rest(kSettle);
    }
    co_return changed;
}

Task<void> DirectoryWatch::rest(Duration duration) {
    boost::system::error_code ignored;
    timer_.expires_after(duration);
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

void DirectoryWatch::stop() {
    stopped_ = true;
    boost::system::error_code ignored;
    timer_.cancel(ignored);
    events_.close(ignored);
}

}  // namespace belljar::engine
