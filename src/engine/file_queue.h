#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "execution/conversation.h"

namespace belljar::engine {

// Lets what has to do with files to the threads that do it: a few of one principal at a time, so
// that others find a thread, and changes of one conversation one after the other, because on a
// thread they would sleep until they have its lock. Who cannot be let in waits here, in the order
// of coming. On the I/O thread.
class FileQueue : public std::enable_shared_from_this<FileQueue> {
   public:
    // A Transfer brings files of a conversation into a jar or back; an Arrival is a run that comes
    // to a conversation. Both are bounded by the runs that there may be, and apart from requests.
    enum class Kind { Look, Change, Transfer, Arrival };

    struct Bounds {
        std::size_t served = 4;         // of one principal: requests, and as many others
        std::size_t of_principal = 64;  // requests that are served or wait
        std::size_t all = 512;          // the same of everybody
    };

    // Being in the queue or served, until it is destroyed.
    class Place {
       public:
        Place(std::shared_ptr<FileQueue> queue, execution::FileName of, Kind kind,
              TimePoint deadline);
        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;
        ~Place();

       private:
        friend class FileQueue;
        using Key = std::pair<std::string, std::string>;

        [[nodiscard]] bool is_request() const {
            return kind_ == Kind::Look || kind_ == Kind::Change;
        }
        // For itself, as long as it is served.
        [[nodiscard]] bool has_conversation() const {
            return kind_ == Kind::Change || kind_ == Kind::Transfer;
        }

        std::shared_ptr<FileQueue> queue_;  // may end before a coroutine that is never resumed
        Key key_;                           // principal and conversation
        Kind kind_;
        asio::steady_timer wait_;
        bool served_ = false;
    };
    using PlacePtr = std::unique_ptr<Place>;

    FileQueue(asio::any_io_executor executor, Bounds bounds)
        : executor_(std::move(executor)), bounds_(bounds) {}

    // Once it is its turn. Overloaded if there is no place, or none comes free in time; Conflict if
    // the conversation is being changed all that time.
    Task<Result<PlacePtr>> enter(execution::FileName of, Kind kind, TimePoint deadline);

   private:
    // Of one principal.
    struct Share {
        std::size_t places = 0;
        std::size_t requests = 0;  // that are here
        std::size_t served_requests = 0;
        std::size_t served_others = 0;
    };

    [[nodiscard]] bool is_full(const std::string& principal) const;
    [[nodiscard]] std::size_t& served(const Place& place);
    [[nodiscard]] bool may_enter(const Place& place);
    void join(Place& place);
    void leave(Place& place);
    void let_in();

    asio::any_io_executor executor_;
    Bounds bounds_;
    std::map<std::string, Share> shares_;
    std::size_t requests_ = 0;
    std::set<Place::Key> changing_;
    std::list<Place*> waiting_;
};

}  // namespace belljar::engine
