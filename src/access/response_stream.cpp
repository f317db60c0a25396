#include "access/response_stream.h"

#include "base/assert.h"

namespace belljar::access {

void ResponseStream::open(StreamHead head) {
    BJ_ASSERT(!open_);
    head_ = std::move(head);
    head_.headers.insert(head_.headers.end(), headers_.begin(), headers_.end());
    open_ = true;
    if (reader_) {
        reader_->on_open();
    }
}

bool ResponseStream::offer(std::string_view piece) {
    if (!reader_ || (full_ && queue_.size() > kCapacity.count / 2)) {
        return false;
    }
    full_ = queue_.size() + piece.size() > kCapacity.count;
    if (full_) {
        return false;
    }
    append(piece);
    return true;
}

void ResponseStream::put(std::string_view piece) { append(piece); }

void ResponseStream::append(std::string_view piece) {
    BJ_ASSERT(open_);
    if (reader_) {
        queue_ += piece;
        reader_->on_piece();
    }
}

std::string ResponseStream::take() {
    taken_ += queue_.size();
    return std::exchange(queue_, {});
}

}  // namespace belljar::access
