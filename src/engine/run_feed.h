#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/utf8_stream.h"
#include "engine/run_watch.h"
#include "execution/result.h"

namespace belljar::engine {

// Something that happened to a run.
struct FeedEvent {
    std::uint64_t number = 0;  // of its principal, from 1 on; 0: it is not remembered
    std::string_view name{};   // run_started, run_output, run_finished or alert
    std::string data{};        // JSON, one line
};

// Tells watchers of runs, each of its own principal's alone. Remembers the last events but not the
// output, for a watcher that was away for a while. Bounded in all of that. What a watcher throws is
// counted, and neither other watchers nor whoever tells of something hear of it. On the I/O thread.
class RunFeed {
   public:
    enum class Output { Left, Shown };
    // Whose alerts a watcher sees: its own principal's, or everybody's.
    enum class Alerts { Own, All };
    using Listener = std::function<void(const FeedEvent&)>;

    struct Bounds {
        std::size_t remembered = 256;  // events of one principal
        std::size_t watchers = 64;
        std::size_t watchers_each = 16;  // of one principal
        std::size_t principals = 1000;   // whose events are remembered
    };

    explicit RunFeed(Bounds bounds);
    RunFeed(const RunFeed&) = delete;
    RunFeed& operator=(const RunFeed&) = delete;

   private:
    struct Watcher {
        Output output;
        Alerts alerts;
        Listener listener;
    };
    // One principal. Who has not been here for longest is forgotten where there are many: access
    // tokens may name any number of them.
    struct Lane {
        std::uint64_t last = 0;
        std::uint64_t used = 0;  // the later, the higher
        std::deque<FeedEvent> remembered{};
        std::list<Watcher> watchers{};
    };
    using LanePtr = std::shared_ptr<Lane>;

   public:
    // Ends with its destruction; the feed outlives it.
    class Subscription {
       public:
        Subscription(RunFeed& feed, LanePtr lane, std::list<Watcher>::iterator place)
            : feed_(&feed), lane_(std::move(lane)), place_(place) {}
        Subscription(Subscription&& other) noexcept
            : feed_(std::exchange(other.feed_, nullptr)),
              lane_(std::move(other.lane_)),
              place_(other.place_) {}
        Subscription& operator=(Subscription&&) = delete;
        Subscription(const Subscription&) = delete;
        Subscription& operator=(const Subscription&) = delete;
        ~Subscription();

       private:
        RunFeed* feed_;
        LanePtr lane_;
        std::list<Watcher>::iterator place_;
    };

    // What came after an event that a watcher has seen.
    struct Missed {
        std::vector<FeedEvent> events{};
        bool complete = true;  // false if there was more than is remembered
    };

    // QuotaReached or Overloaded if there are as many as there may be.
    Result<Subscription> subscribe(const std::string& principal, Output output, Listener listener,
                                   Alerts alerts = Alerts::Own);
    [[nodiscard]] Missed since(const std::string& principal, std::uint64_t number) const;
    // Something that was noticed about a principal, or, without one, about the server. `data` is
    // JSON in one line. Who sees everybody's is told once, and not again after a while away.
    void alert(const std::optional<std::string>& principal, std::string data);
    // Tells this feed's numbers from those of an earlier one.
    [[nodiscard]] const std::string& epoch() const { return epoch_; }
    // How often a watcher threw instead of listening.
    [[nodiscard]] std::uint64_t failures() const { return failures_; }

    // Tells the feed of one run. Shared by the run and its watch; the feed outlives it.
    class Observation : public std::enable_shared_from_this<Observation> {
       public:
        Observation(RunFeed& feed, LanePtr lane) : feed_(feed), lane_(std::move(lane)) {}

        // The same watch, which tells the feed, too.
        [[nodiscard]] RunWatch join(RunWatch watch);
        void finish(const Result<execution::RunResult>& result);

       private:
        void start(const RunStart& begun);
        void write(OutputStream stream, std::string_view bytes);

        RunFeed& feed_;
        LanePtr lane_;
        std::string execution_id_;  // empty: not begun
        std::array<Utf8Stream, 2> characters_;
    };

    [[nodiscard]] std::shared_ptr<Observation> observe(const std::string& principal) {
        return std::make_shared<Observation>(*this, lane_of(principal));
    }
    [[nodiscard]] std::size_t principals() const { return lanes_.size(); }

   private:
    LanePtr lane_of(const std::string& principal);
    void forget_one();
    void tell(const Watcher& watcher, const FeedEvent& event);
    void remember(Lane& lane, std::string_view name, std::string data);
    void show(Lane& lane, const std::string& execution_id, OutputStream stream,
              std::string_view text);
    [[nodiscard]] static bool shows_output(const Lane& lane);

    Bounds bounds_;
    std::string epoch_;
    std::map<std::string, LanePtr> lanes_;  // by principal
    std::uint64_t uses_ = 0;
    std::uint64_t forgotten_ = 0;  // the last number of any who was forgotten; none comes again
    std::size_t watchers_ = 0;
    std::uint64_t failures_ = 0;
};

}  // namespace belljar::engine
