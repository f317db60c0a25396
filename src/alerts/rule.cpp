#include "alerts/rule.h"

#include <algorithm>

namespace belljar::alerts {
namespace {

using execution::SecurityEvent;
using execution::Severity;
using std::chrono::minutes;

bool matches(std::string_view pattern, std::string_view name) {
    if (pattern.ends_with('*')) {
        return name.starts_with(pattern.substr(0, pattern.size() - 1));
    }
    return pattern == name;
}

}  // namespace

Rules usual_rules() {
    return {
        {.name = "denials", .kinds = {"denial"}, .count = 20},
        {.name = "escapes",
         .kinds = {"escape"},
         .count = 3,
         .window = minutes(5),
         .severity = Severity::High},
        {.name = "tools", .kinds = {"tool"}, .per = Per::Everybody, .severity = Severity::High},
        {.name = "quota", .kinds = {"quota"}, .count = 20, .severity = Severity::Low},
        {.name = "scan", .kinds = {"scan"}, .at_least = Severity::High, .count = 3},
        {.name = "grade", .kinds = {"grade"}, .per = Per::Everybody, .severity = Severity::High},
        {.name = "policy", .kinds = {"policy"}, .per = Per::Everybody},
        {.name = "audit",
         .kinds = {"audit"},
         .per = Per::Everybody,
         .severity = Severity::Critical},
        {.name = "access", .kinds = {"access"}, .count = 10, .per = Per::Address},
    };
}

bool concerns(const Rule& rule, const SecurityEvent& event) {
    const auto is_name = [&](const std::string& pattern) { return matches(pattern, event.name); };
    return rule.enabled && event.severity >= rule.at_least &&
           std::ranges::find(rule.kinds, event.kind) != rule.kinds.end() &&
           (rule.names.empty() || std::ranges::any_of(rule.names, is_name));
}

std::string_view name_of(Per per) {
    switch (per) {
        case Per::Principal:
            return "principal";
        case Per::Address:
            return "address";
        case Per::Everybody:
            break;
    }
    return "everybody";
}

std::string_view name_of(Kill kill) {
    switch (kill) {
        case Kill::Run:
            return "run";
        case Kill::All:
            return "all";
        case Kill::Nothing:
            break;
    }
    return "nothing";
}

}  // namespace belljar::alerts
