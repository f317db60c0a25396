#include "engine/admission.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace belljar::engine {

Admission::Ticket::~Ticket() {
    if (admission_ != nullptr) {
        admission_->leave();
    }
}

Task<Result<Admission::Ticket>> Admission::enter(TimePoint deadline, CancellationPtr cancellation) {
    if (cancellation->requested()) {
        co_return fail(ErrorCode::Cancelled, "cancelled before it started");
    }
    if (running_ < bounds_.running) {
        ++running_;
        co_return Ticket(*this);
    }
    if (queue_.size() >= bounds_.waiting) {
        co_return fail(ErrorCode::Overloaded,
                       "too many runs are waiting already; try again in a few seconds");
    }
    const auto waiter = std::make_shared<Waiter>(executor_);
    queue_.push_back(waiter);
    waiter->turn.expires_at(deadline);
    cancellation->on_request([waiter] { waiter->turn.cancel(); });
    boost::system::error_code ignored;
    co_await waiter->turn.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    cancellation->on_request(nullptr);
    if (waiter->admitted) {
        co_return Ticket(*this);
    }
    std::erase(queue_, waiter);
    if (cancellation->requested()) {
        co_return fail(ErrorCode::Cancelled, "cancelled while it waited");
    }
    co_return fail(ErrorCode::Overloaded, "no jar became free in time; try again in a few seconds");
}

// The place passes to the longest waiting run, so running_ stays as it is.
void Admission::leave() {
    if (queue_.empty()) {
        --running_;
        return;
    }
    const std::shared_ptr<Waiter> next = queue_.front();
    queue_.pop_front();
    next->admitted = true;
    next->turn.cancel();
}

}  // namespace belljar::engine
