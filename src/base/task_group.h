#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <string>

#include "base/log.h"
#include "base/task.h"

namespace belljar {

// The only way to start a coroutine that nobody awaits. Counts what is in flight, logs what throws,
// takes nothing new while closing, and is awaited at shutdown. Lives on the I/O thread and outlives
// its tasks.
class TaskGroup {
   public:
    TaskGroup(asio::any_io_executor executor, const Log& log)
        : executor_(std::move(executor)), log_(log), idle_(executor_) {}
    TaskGroup(const TaskGroup&) = delete;
    TaskGroup& operator=(const TaskGroup&) = delete;

    // False if the group is closing; the task is then dropped without having run.
    bool spawn(std::string name, Task<void> task);
    void close() { closing_ = true; }
    [[nodiscard]] std::size_t running() const { return running_; }
    // Returns once nothing is running, or at the deadline with what is left still running.
    Task<void> wait(asio::steady_timer::time_point deadline);

   private:
    asio::any_io_executor executor_;
    const Log& log_;
    asio::steady_timer idle_;
    std::size_t running_ = 0;
    bool closing_ = false;
};

}  // namespace belljar
