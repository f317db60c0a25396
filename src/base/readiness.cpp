#include "base/readiness.h"

#include <sys/epoll.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

namespace belljar {

Result<Readiness> Readiness::create(const asio::any_io_executor& executor, const Fd& source,
                                    For purpose) {
    Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll.valid()) {
        return fail(system_error("epoll_create1"));
    }
    epoll_event event{};
    event.events = purpose == For::Reading ? EPOLLIN : EPOLLOUT;
    if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, source.get(), &event) != 0) {
        if (errno == EPERM) {
            return Readiness(std::nullopt);
        }
        return fail(system_error("epoll_ctl"));
    }
    return Readiness(asio::posix::stream_descriptor(executor, epoll.release()));
}

Task<bool> Readiness::wait() {
    if (!epoll_) {
        co_return true;
    }
    boost::system::error_code error;
    co_await epoll_->async_wait(asio::posix::descriptor_base::wait_read,
                                asio::redirect_error(asio::use_awaitable, error));
    co_return !error;
}

void Readiness::cancel() {
    if (epoll_) {
        boost::system::error_code ignored;
        epoll_->cancel(ignored);
    }
}

}  // namespace belljar
