#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/task.h"

namespace belljar::engine {

// A few threads for what blocks: disks, and the files on their way into jars. What runs there
// shares nothing with the I/O thread, which awaits the result. They start with the first work,
// because a process that has threads can neither fork nor change its user safely.
class FileThreads {
   public:
    explicit FileThreads(std::size_t count) : count_(count) {}

    // Called on the I/O thread; the result is given there.
    template <typename Work>
    Task<std::invoke_result_t<Work>> run(Work work) {
        using Value = std::invoke_result_t<Work>;
        if (!pool_) {
            pool_.emplace(count_);
        }
        std::optional<Value> value = co_await asio::co_spawn(
            *pool_,
            [work = std::move(work)]() mutable -> Task<std::optional<Value>> { co_return work(); },
            asio::use_awaitable);
        co_return std::move(*value);
    }

   private:
    std::size_t count_;
    std::optional<asio::thread_pool> pool_;
};

}  // namespace belljar::engine
