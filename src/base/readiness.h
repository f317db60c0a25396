#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <optional>

#include "base/fd.h"
#include "base/result.h"
#include "base/task.h"

namespace belljar {

// Waits until a descriptor that belongs to somebody else as well can be read, or written to, and
// leaves it as it is: a terminal that is shared with a shell must not be found non-blocking
// afterwards, which waiting for it with Asio itself would do. So an epoll descriptor of our own
// stands in between.
class Readiness {
   public:
    enum class For { Reading, Writing };

    // `source` is borrowed and must outlive this.
    static Result<Readiness> create(const asio::any_io_executor& executor, const Fd& source,
                                    For purpose = For::Reading);

    // False if the wait was cancelled. Plain files are always ready.
    Task<bool> wait();
    void cancel();

   private:
    explicit Readiness(std::optional<asio::posix::stream_descriptor> epoll)
        : epoll_(std::move(epoll)) {}

    std::optional<asio::posix::stream_descriptor> epoll_;  // none: always ready
};

}  // namespace belljar
