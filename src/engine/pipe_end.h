#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <span>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "base/task.h"

namespace belljar::engine {

// Our end of a pipe, which never blocks. It is watched only from when somebody wants to wait for
// it: what is written to a pipe that is watched wakes the I/O thread, often on the very processor
// that the guest runs on.
class PipeEnd {
   public:
    explicit PipeEnd(const asio::any_io_executor& executor) : watched_(executor) {}

    Result<void> take(Fd fd);
    // From now on it can be waited for. Does nothing if it is watched already.
    Result<void> watch();
    // Not any more; nobody waits for it now.
    void rest();
    void close();
    // Whoever waits for it gets nothing.
    void cancel();

    // At once, and as much as there is, or as fits; 0 if nothing.
    std::size_t read_now(std::span<char> buffer);
    std::size_t write_now(std::string_view text);

    // How much was read; 0 at the end, and if it was cancelled. Only while it is watched.
    Task<std::size_t> read_some(std::span<char> buffer);
    // False if it could not be written to its end. Only while it is watched.
    Task<bool> write_all(std::string_view text);

    [[nodiscard]] asio::any_io_executor executor() { return watched_.get_executor(); }

   private:
    [[nodiscard]] int number();

    Fd resting_;
    asio::posix::stream_descriptor watched_;
};

}  // namespace belljar::engine
