#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <deque>
#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "engine/cancellation.h"

namespace belljar::engine {

// Lets a bounded number of runs go on at once and a bounded number wait, first come first served.
class Admission {
   public:
    struct Bounds {
        std::size_t running = 16;
        std::size_t waiting = 256;
    };

    // The right to run; given back when it is destroyed.
    class Ticket {
       public:
        explicit Ticket(Admission& admission) : admission_(&admission) {}
        Ticket(Ticket&& other) noexcept : admission_(std::exchange(other.admission_, nullptr)) {}
        Ticket& operator=(Ticket&& other) = delete;
        Ticket(const Ticket&) = delete;
        Ticket& operator=(const Ticket&) = delete;
        ~Ticket();

       private:
        Admission* admission_;
    };

    Admission(asio::any_io_executor executor, Bounds bounds)
        : executor_(std::move(executor)), bounds_(bounds) {}

    // Overloaded if the queue is full or the deadline passes; Cancelled if the caller went away.
    Task<Result<Ticket>> enter(TimePoint deadline, CancellationPtr cancellation);
    [[nodiscard]] std::size_t running() const { return running_; }
    [[nodiscard]] std::size_t waiting() const { return queue_.size(); }

   private:
    struct Waiter {
        explicit Waiter(const asio::any_io_executor& executor) : turn(executor) {}
        asio::steady_timer turn;
        bool admitted = false;
    };

    void leave();

    asio::any_io_executor executor_;
    Bounds bounds_;
    std::size_t running_ = 0;
    std::deque<std::shared_ptr<Waiter>> queue_;
};

}  // namespace belljar::engine
