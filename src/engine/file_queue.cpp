#include "engine/file_queue.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace belljar::engine {
namespace {

using execution::FileName;

std::unexpected<Error> too_many() {
    return fail(Error{.code = ErrorCode::Overloaded,
                      .message = "too many requests for files are under way; try again later",
                      .retry_after = std::chrono::seconds(1)});
}

}  // namespace

// --- a place

FileQueue::Place::Place(std::shared_ptr<FileQueue> queue, FileName of, Kind kind,
                        TimePoint deadline)
    : queue_(std::move(queue)),
      key_(std::move(of.principal), std::move(of.conversation_id)),
      kind_(kind),
      wait_(queue_->executor_, deadline) {
    queue_->join(*this);
}

FileQueue::Place::~Place() { queue_->leave(*this); }

// --- the queue

Task<Result<FileQueue::PlacePtr>> FileQueue::enter(FileName of, Kind kind, TimePoint deadline) {
    const bool request = kind == Kind::Look || kind == Kind::Change;
    if (request && is_full(of.principal)) {
        co_return too_many();
    }
    auto place = std::make_unique<Place>(shared_from_this(), std::move(of), kind, deadline);
    let_in();
    if (!place->served_) {
        boost::system::error_code ignored;
        co_await place->wait_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    if (place->served_) {
        co_return place;
    }
    co_return place->has_conversation() && changing_.contains(place->key_)
        ? fail(ErrorCode::Conflict, "the conversation's files are being changed; try again")
        : too_many();
}

bool FileQueue::is_full(const std::string& principal) const {
    const auto share = shares_.find(principal);
    return requests_ >= bounds_.all ||
           (share != shares_.end() && share->second.requests >= bounds_.of_principal);
}

std::size_t& FileQueue::served(const Place& place) {
    Share& share = shares_[place.key_.first];
    return place.is_request() ? share.served_requests : share.served_others;
}

bool FileQueue::may_enter(const Place& place) {
    return served(place) < bounds_.served &&
           !(place.has_conversation() && changing_.contains(place.key_));
}

void FileQueue::join(Place& place) {
    Share& share = shares_[place.key_.first];
    ++share.places;
    share.requests += place.is_request() ? 1 : 0;
    requests_ += place.is_request() ? 1 : 0;
    waiting_.push_back(&place);
}

void FileQueue::leave(Place& place) {
    if (place.served_) {
        --served(place);
        if (place.has_conversation()) {
            changing_.erase(place.key_);
        }
    } else {
        waiting_.remove(&place);
    }
    const auto share = shares_.find(place.key_.first);
    share->second.requests -= place.is_request() ? 1 : 0;
    requests_ -= place.is_request() ? 1 : 0;
    if (--share->second.places == 0) {
        shares_.erase(share);
    }
    let_in();
}

void FileQueue::let_in() {
    for (auto next = waiting_.begin(); next != waiting_.end();) {
        Place& place = **next;
        if (!may_enter(place)) {
            ++next;
            continue;
        }
        next = waiting_.erase(next);
        ++served(place);
        if (place.has_conversation()) {
            changing_.insert(place.key_);
        }
        place.served_ = true;
        place.wait_.cancel();
    }
}

}  // namespace belljar::engine
