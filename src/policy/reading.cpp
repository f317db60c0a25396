#include "policy/reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <tuple>

#include "base/utf8.h"

namespace belljar::policy {
namespace {

using execution::Finding;
using execution::ScanAction;

// Of what a reader lists; what is more is not said.
constexpr std::size_t kMostSpots = 100;
constexpr std::size_t kMostSuspicions = 2000;  // readers tell a few of each rule
constexpr std::size_t kLongestText = 500;
constexpr std::size_t kLongestSubject = 60;
constexpr std::size_t kMostFindings = 50;

std::string clipped(const json::value* value, std::size_t longest = kLongestText) {
    return value != nullptr && value->is_string()
               ? std::string(utf8_beginning(value->get_string(), longest))
               : "";
}

std::int64_t count_in(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    return value != nullptr && value->is_int64()
               ? std::clamp<std::int64_t>(value->get_int64(), 0, 1'000'000'000)
               : 0;
}

const json::array& list_in(const json::object& object, std::string_view name) {
    static const json::array kNone;
    const json::value* value = object.if_contains(name);
    return value != nullptr && value->is_array() ? value->get_array() : kNone;
}

// One line without control characters: it goes into sentences.
std::string cleaned(std::string text) {
    std::ranges::replace_if(
        text, [](unsigned char letter) { return letter < ' ' || letter == 0x7F; }, '?');
    return text;
}

Spot read_spot(const json::object& object) {
    return {.line = count_in(object, "line"), .text = cleaned(clipped(object.if_contains("text")))};
}

std::vector<Spot> read_spots(const json::object& object, std::string_view name) {
    std::vector<Spot> spots;
    for (const json::value& item : list_in(object, name)) {
        if (item.is_object() && spots.size() < kMostSpots) {
            spots.push_back(read_spot(item.get_object()));
        }
    }
    return spots;
}

std::vector<std::string> read_names(const json::object& object, std::string_view name) {
    std::vector<std::string> names;
    for (const json::value& item : list_in(object, name)) {
        if (item.is_string() && names.size() < kMostSpots) {
            names.push_back(cleaned(clipped(&item)));
        }
    }
    return names;
}

std::vector<Suspicion> read_suspicions(const json::object& object) {
    std::vector<Suspicion> suspicions;
    for (const json::value& item : list_in(object, "findings")) {
        const json::object* found = item.if_object();
        if (found == nullptr || suspicions.size() == kMostSuspicions) {
            continue;
        }
        if (const ScanRule* rule = find_scan_rule(clipped(found->if_contains("rule")))) {
            suspicions.push_back(
                {.rule = rule,
                 .line = count_in(*found, "line"),
                 .subject = cleaned(clipped(found->if_contains("subject"), kLongestSubject))});
        }
    }
    return suspicions;
}

// Builtins are the matter of a profile: those that it does not name are nothing to tell.
bool is_wanted(const Profile& profile, const Suspicion& suspicion) {
    return suspicion.rule->name != "code.builtin" ||
           std::ranges::binary_search(profile.warn_builtins, suspicion.subject);
}

}  // namespace

Reading parse_reading(const json::value& answer) {
    if (!answer.is_object()) {
        return unreadable("the program is too large to be read");
    }
    const json::object& object = answer.get_object();
    Reading reading{.imports = read_spots(object, "imports"),
                    .suspicions = read_suspicions(object),
                    .functions = read_names(object, "functions"),
                    .classes = read_names(object, "classes"),
                    .branches = count_in(object, "branches")};
    const json::value* unread = object.if_contains("unread");
    reading.whole = unread == nullptr || *unread != json::value(true);
    const json::value* problem = object.if_contains("problem");
    if (problem != nullptr && problem->is_object()) {
        reading.problem = read_spot(problem->get_object());
    }
    return reading;
}

Reading unreadable(std::string reason) {
    return {.problem = Spot{.line = 1, .text = std::move(reason)}, .whole = false};
}

execution::ReadingOrder reading_order(const Profile& profile, bool approved) {
    const ScanAction least = approved ? ScanAction::Refuse : ScanAction::Ask;
    execution::ReadingOrder order{.builtins = profile.warn_builtins};
    for (const ScanRule& rule : scan_rules()) {
        if (action_for(profile, rule.name, rule.severity) >= least) {
            order.stops.emplace_back(rule.name);
        }
    }
    return order;
}

std::vector<Finding> judge(const Profile& profile, const Reading& reading) {
    std::vector<Finding> findings;
    const auto add = [&](const ScanRule& rule, std::int64_t line, std::string_view subject) {
        Finding finding{.rule = std::string(rule.name),
                        .severity = rule.severity,
                        .action = action_for(profile, rule.name, rule.severity),
                        .line = static_cast<std::uint32_t>(line),
                        .text = describe(rule, subject)};
        const bool known = std::ranges::any_of(findings, [&finding](const Finding& other) {
            return other.rule == finding.rule && other.line == finding.line;
        });
        if (!known) {
            findings.push_back(std::move(finding));
        }
    };
    if (!reading.whole) {
        add(*find_scan_rule("code.unreadable"), 0, "");
    }
    for (const Suspicion& suspicion : reading.suspicions) {
        if (is_wanted(profile, suspicion)) {
            add(*suspicion.rule, suspicion.line, suspicion.subject);
        }
    }
    std::ranges::sort(findings, [](const Finding& one, const Finding& other) {
        return std::tie(other.action, other.severity, one.line, one.rule) <
               std::tie(one.action, one.severity, other.line, other.rule);
    });
    findings.resize(std::min(findings.size(), kMostFindings));
    return findings;
}

std::string at_line(std::int64_t line, std::string_view text) {
    return line > 0 ? fmt::format("Line {}: {}", line, text) : std::string(text);
}

std::string in_words(const Finding& finding) { return at_line(finding.line, finding.text); }

}  // namespace belljar::policy
