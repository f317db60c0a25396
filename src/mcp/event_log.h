#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace belljar::mcp {

// Where an event stands: the stream that it belongs to, and its place there. Both count from one.
struct EventPlace {
    std::uint64_t stream = 0;
    std::uint64_t number = 0;

    bool operator==(const EventPlace&) const = default;
};

// "3-17", as the id of an event says it.
[[nodiscard]] std::string format_place(EventPlace place);
[[nodiscard]] std::optional<EventPlace> parse_place(std::string_view text);

// How much all logs together hold; shared by them, because each gives back what it held.
struct EventBudget {
    Bytes limit = mebibytes(64);
    std::uint64_t held = 0;
};

// The last messages that a session has sent, for a client that lost its connection. The oldest go
// first; one that is larger than all the room is kept if it is the newest. What the budget does not
// allow is not kept.
class EventLog {
   public:
    static constexpr Bytes kRoom = kibibytes(256);

    explicit EventLog(std::shared_ptr<EventBudget> budget) : budget_(std::move(budget)) {}
    EventLog(const EventLog&) = delete;
    EventLog& operator=(const EventLog&) = delete;
    ~EventLog();

    struct Event {
        EventPlace place{};
        std::string message{};
    };

    void add(EventPlace place, const std::string& message);
    // What came behind this place in its stream.
    [[nodiscard]] std::vector<Event> after(EventPlace place) const;

   private:
    void drop_oldest();

    std::shared_ptr<EventBudget> budget_;
    std::deque<Event> events_;
    std::uint64_t held_ = 0;
};

}  // namespace belljar::mcp
