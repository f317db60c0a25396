#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "execution/governance.h"

namespace belljar::alerts {

// Whose events are counted together.
enum class Per { Principal, Address, Everybody };

// What is ended at once.
enum class Kill { Nothing, Run, All };

// When to tell somebody, and what to do by itself. One alert for each principal or address, and
// then none until the cool-down is over.
struct Rule {
    std::string name{};
    std::vector<std::string> kinds{};  // of events
    // Of them, only those with one of these names, which may end with a star; none: all.
    std::vector<std::string> names{};
    execution::Severity at_least = execution::Severity::Low;
    std::uint32_t count = 1;  // so many of them
    Duration window = std::chrono::minutes(1);
    Per per = Per::Principal;
    Duration cool_down = std::chrono::minutes(10);
    execution::Severity severity = execution::Severity::Medium;  // of the alert
    Kill kill = Kill::Nothing;
    Duration block{};         // of the principal; zero: not at all
    bool quarantine = false;  // the conversation
    bool enabled = true;

    bool operator==(const Rule&) const = default;
};

using Rules = std::vector<Rule>;

// In force where no file says otherwise. They tell, and do nothing else.
[[nodiscard]] Rules usual_rules();

// Whether the event is one that the rule counts.
[[nodiscard]] bool concerns(const Rule& rule, const execution::SecurityEvent& event);

[[nodiscard]] std::string_view name_of(Per per);
[[nodiscard]] std::string_view name_of(Kill kill);

}  // namespace belljar::alerts
