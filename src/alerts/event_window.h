#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"

namespace belljar::alerts {

// Counts events by key and says when so many have come within a time. Remembers so many keys at
// most: those that were quiet the longest are forgotten first, so a flood of names costs nothing
// but the memory of others' beginnings.
class EventWindow {
   public:
    struct Bounds {
        std::uint32_t count = 1;
        Duration window{};
        Duration cool_down{};
        std::size_t keys = 1024;

        bool operator==(const Bounds&) const = default;
    };

    explicit EventWindow(Bounds bounds) : bounds_(bounds) {}

    // How many events there were since the last alert about the key or within the window, whichever
    // is more, if one is due now.
    std::optional<std::uint64_t> add(const std::string& key, TimePoint now);

    [[nodiscard]] std::size_t keys() const { return entries_.size(); }
    [[nodiscard]] const Bounds& bounds() const { return bounds_; }

   private:
    struct Entry {
        std::string key{};
        std::deque<TimePoint> times{};  // the last ones, at most `count`
        std::uint64_t since_alert = 0;
        std::optional<TimePoint> alerted{};
    };

    Entry& entry_of(const std::string& key);

    Bounds bounds_;
    std::list<Entry> entries_;  // the most recent first
    std::map<std::string, std::list<Entry>::iterator> by_key_;
};

}  // namespace belljar::alerts
