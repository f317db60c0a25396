#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "config/settings.h"
#include "engine/cancellation.h"
#include "engine/durations.h"
#include "engine/turnover.h"

namespace belljar::engine {

// Lets a bounded number of runs go on at once and a bounded number wait. A place that becomes free
// goes to the next principal in turn, whatever the others have waiting; the runs of one principal
// start in the order of their arrival. Used on the I/O thread only; outlives its tickets.
class Admission {
    struct Lane;

   public:
    static constexpr std::size_t kNoBound = std::numeric_limits<std::size_t>::max();

    struct Bounds {
        std::size_t running = 16;
        std::size_t waiting = 256;
        std::size_t running_each = kNoBound;  // of one principal
        std::size_t waiting_each = kNoBound;
    };

    // Of the bounds above, those of one principal.
    struct Share {
        std::size_t running = kNoBound;
        std::size_t waiting = kNoBound;
    };
    using ShareOf = std::function<Share(const std::string& principal)>;

    // What became of those who came, since the start.
    struct Figures {
        std::size_t running = 0;                              // now
        std::size_t waiting = 0;                              // now
        Durations waits{};                                    // of those admitted
        std::map<std::string_view, std::uint64_t> refused{};  // by reason
    };

    // The right to run; given back when it is destroyed.
    class Ticket {
       public:
        Ticket(Admission& admission, Lane& lane)
            : admission_(&admission), lane_(&lane), began_(Clock::now()) {}
        Ticket(Ticket&& other) noexcept
            : admission_(std::exchange(other.admission_, nullptr)),
              lane_(other.lane_),
              began_(other.began_) {}
        Ticket& operator=(Ticket&& other) = delete;
        Ticket(const Ticket&) = delete;
        Ticket& operator=(const Ticket&) = delete;
        ~Ticket();

       private:
        Admission* admission_;
        Lane* lane_;
        TimePoint began_;
    };

    Admission(asio::any_io_executor executor, Bounds bounds)
        : executor_(std::move(executor)),
          bounds_(bounds),
          share_of_([bounds](const std::string& /*principal*/) {
              return Share{.running = bounds.running_each, .waiting = bounds.waiting_each};
          }) {}

    // Instead of the same share for all; asked whenever a run comes.
    void share_by(ShareOf share_of) { share_of_ = std::move(share_of); }

    // QuotaReached if the principal's own share is used up, Overloaded if all is; both at once or
    // when the deadline passes, and with the time to try again after. Cancelled if the caller went
    // away.
    Task<Result<Ticket>> enter(std::string principal, TimePoint deadline,
                               CancellationPtr cancellation);

    [[nodiscard]] const Figures& figures() const { return figures_; }

   private:
    struct Waiter;
    using WaiterPtr = std::shared_ptr<Waiter>;  // the one who waits, and its timer's handlers

    // One principal that has runs here.
    struct Lane {
        std::string principal{};
        Share share{};
        std::size_t running = 0;
        std::list<WaiterPtr> waiting{};
        bool in_turns = false;
        std::list<Lane*>::iterator turn{};
    };

    struct Waiter {
        enum class State { Waiting, Admitted, Withdrawn };

        Waiter(const asio::any_io_executor& executor, Lane& its_lane)
            : alarm(executor), lane(&its_lane) {}

        asio::steady_timer alarm;  // at the deadline, and when something happens before
        Lane* lane;                // valid until it is withdrawn or its ticket is given back
        std::list<WaiterPtr>::iterator place{};
        State state = State::Waiting;
    };

    Result<WaiterPtr> come(const std::string& principal);
    [[nodiscard]] bool may_run_more(const Lane& lane) const;
    Result<void> check_room(const Lane& lane);
    void withdraw(Waiter& waiter);
    void take_out(Waiter& waiter);
    void give_place(Waiter& waiter);
    void give_free_places();
    void leave(Lane& lane, TimePoint began);

    void join_turns(Lane& lane);
    void leave_turns(Lane& lane);
    void forget_if_idle(Lane& lane);

    std::unexpected<Error> refuse_at_deadline(Waiter& waiter);
    std::unexpected<Error> refuse(std::string_view reason, Error error, Turnover::Queue queue);

    asio::any_io_executor executor_;
    Bounds bounds_;
    ShareOf share_of_;
    std::map<std::string, Lane> lanes_;  // by principal
    std::list<Lane*> turns_;             // who waits and may run more, the next one first
    Turnover turnover_;
    Figures figures_;
};

// Whether the server can tell callers apart.
enum class Callers { One, Several };

// Among several, none can take every place: however long its runs are, others can begin.
[[nodiscard]] Admission::Bounds bounds_from(const config::LimitSettings& limits, Callers callers);

}  // namespace belljar::engine
