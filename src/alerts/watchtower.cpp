#include "alerts/watchtower.h"

#include <algorithm>
#include <utility>

#include "base/id.h"

namespace belljar::alerts {
namespace {

using execution::SecurityEvent;

constexpr std::size_t kRemembered = 500;
constexpr std::size_t kLongestKey = 256;

EventWindow::Bounds bounds_of(const Rule& rule) {
    return {.count = rule.count, .window = rule.window, .cool_down = rule.cool_down};
}

std::string address_of(const SecurityEvent& event) {
    const auto found = event.details.find("address");
    return found == event.details.end() ? "" : found->second;
}

std::string key_of(const Rule& rule, const SecurityEvent& event) {
    switch (rule.per) {
        case Per::Principal:
            return event.principal.substr(0, kLongestKey);
        case Per::Address:
            return address_of(event).substr(0, kLongestKey);
        case Per::Everybody:
            break;
    }
    return "";
}

}  // namespace

Watchtower::Watchtower(Rules rules) { set_rules(std::move(rules)); }

void Watchtower::set_rules(Rules rules) {
    std::vector<Watch> watches;
    for (Rule& rule : rules) {
        const auto same = std::ranges::find(watches_, rule, &Watch::rule);
        if (same != watches_.end()) {
            watches.push_back(std::move(*same));
            continue;
        }
        EventWindow window(bounds_of(rule));
        watches.push_back({.rule = std::move(rule), .window = std::move(window)});
    }
    watches_ = std::move(watches);
}

Rules Watchtower::rules() const {
    Rules rules;
    for (const Watch& watch : watches_) {
        rules.push_back(watch.rule);
    }
    return rules;
}

std::vector<Alert> Watchtower::take(const SecurityEvent& event, TimePoint now) {
    std::vector<Alert> due;
    for (Watch& watch : watches_) {
        if (!concerns(watch.rule, event)) {
            continue;
        }
        const std::optional<std::uint64_t> events =
            watch.window.add(key_of(watch.rule, event), now);
        if (!events) {
            continue;
        }
        Alert alert{.id = make_uuid(),
                    .time = event.time,
                    .rule = watch.rule,
                    .events = *events,
                    .address = address_of(event),
                    .event = event};
        if (watch.rule.per == Per::Principal) {
            alert.principal = event.principal;
        }
        due.push_back(std::move(alert));
    }
    return due;
}

void Watchtower::remember(Alert alert) {
    recent_.push_back(std::move(alert));
    if (recent_.size() > kRemembered) {
        recent_.pop_front();
    }
}

}  // namespace belljar::alerts
