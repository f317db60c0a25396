#include "mcp/event_log.h"

#include <fmt/format.h>

#include <charconv>

namespace belljar::mcp {

std::string format_place(EventPlace place) {
    return fmt::format("{}-{}", place.stream, place.number);
}

std::optional<EventPlace> parse_place(std::string_view text) {
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos) {
        return std::nullopt;
    }
    const auto number = [](std::string_view digits) -> std::optional<std::uint64_t> {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
        return error == std::errc{} && end == digits.end() ? std::optional(value) : std::nullopt;
    };
    const std::optional<std::uint64_t> stream = number(text.substr(0, dash));
    const std::optional<std::uint64_t> place = number(text.substr(dash + 1));
    return stream && place ? std::optional(EventPlace{*stream, *place}) : std::nullopt;
}

EventLog::~EventLog() { budget_->held -= held_; }

void EventLog::add(EventPlace place, const std::string& message) {
    while (!events_.empty() && held_ + message.size() > kRoom.count) {
        drop_oldest();
    }
    if (budget_->held + message.size() > budget_->limit.count) {
        return;
    }
    events_.push_back({place, message});
    held_ += message.size();
    budget_->held += message.size();
}

std::vector<EventLog::Event> EventLog::after(EventPlace place) const {
    std::vector<Event> found;
    for (const Event& event : events_) {
        if (event.place.stream == place.stream && event.place.number > place.number) {
            found.push_back(event);
        }
    }
    return found;
}

void EventLog::drop_oldest() {
    held_ -= events_.front().message.size();
    budget_->held -= events_.front().message.size();
    events_.pop_front();
}

}  // namespace belljar::mcp
