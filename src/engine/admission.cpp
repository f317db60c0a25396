#include "engine/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace belljar::engine {
namespace {

constexpr std::string_view kShareFull = "share_full";
constexpr std::string_view kQueueFull = "queue_full";
constexpr std::string_view kQueueTime = "queue_time";

}  // namespace

Admission::Ticket::~Ticket() {
    if (admission_ != nullptr) {
        admission_->leave(*lane_, began_);
    }
}

Task<Result<Admission::Ticket>> Admission::enter(std::string principal, TimePoint deadline,
                                                 CancellationPtr cancellation) {
    if (cancellation->requested()) {
        co_return fail(ErrorCode::Cancelled, "cancelled before it started");
    }
    const TimePoint arrival = Clock::now();
    BJ_CO_TRY(const WaiterPtr waiter, come(principal));
    if (waiter->state == Waiter::State::Waiting) {
        waiter->alarm.expires_at(deadline);
        cancellation->on_request([this, waiter] { withdraw(*waiter); });
        boost::system::error_code ignored;
        co_await waiter->alarm.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        cancellation->on_request(nullptr);
    }
    switch (waiter->state) {
        case Waiter::State::Admitted:
            break;
        case Waiter::State::Withdrawn:
            co_return fail(ErrorCode::Cancelled, "cancelled while it waited");
        case Waiter::State::Waiting:
            co_return refuse_at_deadline(*waiter);
    }
    figures_.waits.add(Clock::now() - arrival);
    co_return Ticket(*this, *waiter->lane);
}

// Gives a place at once or one in the queue.
Result<Admission::WaiterPtr> Admission::come(const std::string& principal) {
    Lane& lane = lanes_[principal];
    lane.principal = principal;
    lane.share = share_of_(principal);
    auto waiter = std::make_shared<Waiter>(executor_, lane);
    // A free place is one that nobody who waits may have.
    if (figures_.running < bounds_.running && may_run_more(lane)) {
        give_place(*waiter);
        return waiter;
    }
    if (Result<void> room = check_room(lane); !room) {
        forget_if_idle(lane);
        return fail(std::move(room).error());
    }
    waiter->place = lane.waiting.insert(lane.waiting.end(), waiter);
    ++figures_.waiting;
    join_turns(lane);
    return waiter;
}

bool Admission::may_run_more(const Lane& lane) const { return lane.running < lane.share.running; }

Result<void> Admission::check_room(const Lane& lane) {
    if (lane.waiting.size() >= lane.share.waiting) {
        const std::size_t waiting_lanes = std::max<std::size_t>(turns_.size(), 1);
        return refuse(kShareFull,
                      {.code = ErrorCode::QuotaReached,
                       .message = "as many of your runs are waiting as may wait"},
                      {.runs = lane.waiting.size() * waiting_lanes,
                       .places = std::min(bounds_.running, lane.share.running)});
    }
    if (figures_.waiting >= bounds_.waiting) {
        return refuse(
            kQueueFull,
            {.code = ErrorCode::Overloaded, .message = "too many runs are waiting already"},
            {.runs = figures_.waiting, .places = bounds_.running});
    }
    return {};
}

std::unexpected<Error> Admission::refuse_at_deadline(Waiter& waiter) {
    const bool by_itself = !may_run_more(*waiter.lane);
    withdraw(waiter);
    return refuse(kQueueTime,
                  {.code = by_itself ? ErrorCode::QuotaReached : ErrorCode::Overloaded,
                   .message = by_itself ? "none of your other runs ended in time"
                                        : "no place became free in time"},
                  {.runs = figures_.waiting, .places = bounds_.running});
}

std::unexpected<Error> Admission::refuse(std::string_view reason, Error error,
                                         Turnover::Queue queue) {
    ++figures_.refused[reason];
    error.retry_after = turnover_.time_for(queue, Clock::now());
    error.message += fmt::format("; try again in {} s", error.retry_after.count());
    return fail(std::move(error));
}

// Of no effect once it has been given a place.
void Admission::withdraw(Waiter& waiter) {
    if (waiter.state != Waiter::State::Waiting) {
        return;
    }
    waiter.state = Waiter::State::Withdrawn;
    waiter.alarm.cancel();
    Lane& lane = *waiter.lane;
    take_out(waiter);
    forget_if_idle(lane);
}

void Admission::take_out(Waiter& waiter) {
    Lane& lane = *waiter.lane;
    lane.waiting.erase(waiter.place);
    --figures_.waiting;
    if (lane.waiting.empty()) {
        leave_turns(lane);
    }
}

void Admission::give_place(Waiter& waiter) {
    waiter.state = Waiter::State::Admitted;
    waiter.alarm.cancel();
    ++waiter.lane->running;
    ++figures_.running;
    turnover_.began(Clock::now());
}

void Admission::give_free_places() {
    while (figures_.running < bounds_.running && !turns_.empty()) {
        Lane& lane = *turns_.front();
        const WaiterPtr next = lane.waiting.front();
        take_out(*next);
        give_place(*next);
        leave_turns(lane);
        join_turns(lane);  // behind the others
    }
}

void Admission::leave(Lane& lane, TimePoint began) {
    turnover_.ended(Clock::now() - began);
    --figures_.running;
    --lane.running;
    join_turns(lane);
    give_free_places();
    forget_if_idle(lane);
}

void Admission::join_turns(Lane& lane) {
    if (!lane.in_turns && !lane.waiting.empty() && may_run_more(lane)) {
        lane.turn = turns_.insert(turns_.end(), &lane);
        lane.in_turns = true;
    }
}

void Admission::leave_turns(Lane& lane) {
    if (std::exchange(lane.in_turns, false)) {
        turns_.erase(lane.turn);
    }
}

void Admission::forget_if_idle(Lane& lane) {
    if (lane.running == 0 && lane.waiting.empty()) {
        lanes_.erase(lane.principal);
    }
}

Admission::Bounds bounds_from(const config::LimitSettings& limits, Callers callers) {
    Admission::Bounds bounds{.running = limits.concurrent_runs, .waiting = limits.queued_runs};
    if (callers == Callers::One) {
        return bounds;
    }
    const auto chosen_or = [](std::size_t chosen, std::size_t share) {
        return chosen > 0 ? chosen : std::max<std::size_t>(share, 1);
    };
    const std::size_t kept_free = std::max<std::size_t>(bounds.running / 4, 1);
    bounds.running_each =
        chosen_or(limits.concurrent_runs_per_principal, bounds.running - kept_free);
    bounds.waiting_each = chosen_or(limits.queued_runs_per_principal, bounds.waiting / 4);
    return bounds;
}

}  // namespace belljar::engine
