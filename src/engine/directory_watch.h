#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/task.h"

namespace belljar::engine {

// Tells when something in some directories may have changed. On the I/O thread.
class DirectoryWatch {
   public:
    explicit DirectoryWatch(const asio::any_io_executor& executor)
        : events_(executor), timer_(executor) {}

    // What has changed until now is forgotten. Directories that are not there are left out. Call it
    // before reading them, so that no change falls in between.
    void look_at(const std::vector<std::string>& places);
    // Until there was a change and a short rest after it, or `at_most` is over: true if there was
    // one.
    Task<bool> await_change(Duration at_most);
    void stop();
    [[nodiscard]] bool stopped() const { return stopped_; }

   private:
    Task<void> rest(Duration duration);

    asio::posix::stream_descriptor events_;
    asio::steady_timer timer_;
    bool stopped_ = false;
};

}  // namespace belljar::engine
