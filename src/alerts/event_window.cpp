#include "alerts/event_window.h"

#include <algorithm>

namespace belljar::alerts {

EventWindow::Entry& EventWindow::entry_of(const std::string& key) {
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
        entries_.splice(entries_.begin(), entries_, found->second);
        return entries_.front();
    }
    if (entries_.size() >= bounds_.keys) {
        by_key_.erase(entries_.back().key);
        entries_.pop_back();
    }
    entries_.push_front({.key = key});
    by_key_[key] = entries_.begin();
    return entries_.front();
}

std::optional<std::uint64_t> EventWindow::add(const std::string& key, TimePoint now) {
    Entry& entry = entry_of(key);
    ++entry.since_alert;
    entry.times.push_back(now);
    if (entry.times.size() > bounds_.count) {
        entry.times.pop_front();
    }
    const bool many =
        entry.times.size() >= bounds_.count && now - entry.times.front() <= bounds_.window;
    const bool rests = entry.alerted && now - *entry.alerted < bounds_.cool_down;
    if (!many || rests) {
        return std::nullopt;
    }
    const std::uint64_t count =
        entry.alerted ? entry.since_alert : std::uint64_t{entry.times.size()};
    entry.alerted = now;
    entry.since_alert = 0;
    entry.times.clear();
    return count;
}

}  // namespace belljar::alerts
