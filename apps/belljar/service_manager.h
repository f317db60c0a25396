#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "base/task.h"

namespace belljar::apps {

// Tells systemd, or whoever set NOTIFY_SOCKET, how the service is doing. Without that variable
// nothing is told. Made before there are children, which must not speak for us.
class ServiceManager {
   public:
    // Takes the variables out of the environment.
    static ServiceManager find();

    void ready(std::string_view status) const;
    void reloading() const;
    void stopping() const;
    // Shows at the rate that was asked for that the I/O thread still turns; ends with stop().
    Task<void> show_life(asio::any_io_executor executor);
    void stop();

   private:
    void tell(const std::string& lines) const;

    Fd socket_;
    Duration life_{};  // the longest silence that is allowed; 0: nobody asks
    asio::steady_timer* pulse_ = nullptr;
};

}  // namespace belljar::apps
