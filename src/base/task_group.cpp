#include "base/task_group.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>

namespace belljar {
namespace {

std::string describe(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "unknown";
    }
}

}  // namespace

bool TaskGroup::spawn(std::string name, Task<void> task) {
    if (closing_) {
        return false;
    }
    ++running_;
    asio::co_spawn(executor_, std::move(task),
                   [this, name = std::move(name)](const std::exception_ptr& failure) {
                       if (failure) {
                           log_.error("a task failed",
                                      {{"task", name}, {"reason", describe(failure)}});
                       }
                       --running_;
                       if (running_ == 0) {
                           idle_.cancel();
                       }
                   });
    return true;
}

Task<void> TaskGroup::wait(asio::steady_timer::time_point deadline) {
    if (running_ == 0) {
        co_return;
    }
    idle_.expires_at(deadline);
    boost::system::error_code ignored;
    co_await idle_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

}  // namespace belljar
