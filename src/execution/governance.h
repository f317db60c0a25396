#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace belljar::execution {

// How bad it would be if it meant harm.
enum class Severity { Low, Medium, High, Critical };

[[nodiscard]] std::string_view name_of(Severity severity);
[[nodiscard]] std::optional<Severity> parse_severity(std::string_view name);

// What policy does about a finding, in rising order.
enum class ScanAction { Note, Warn, Ask, Refuse };

[[nodiscard]] std::string_view name_of(ScanAction action);
[[nodiscard]] std::optional<ScanAction> parse_scan_action(std::string_view name);

// Something in a program's text that a person would look at twice.
struct Finding {
    std::string rule{};  // a stable dotted name: "code.eval"
    Severity severity = Severity::Low;
    ScanAction action = ScanAction::Note;
    std::uint32_t line = 0;  // from 1; 0: the program as a whole
    std::string text{};      // a sentence for the caller; never a secret that was found

    bool operator==(const Finding&) const = default;
};

// What of a program's output is masked on its way to the caller: the names of types of personal
// data; none: nothing is.
struct PrivacyRules {
    std::vector<std::string> mask{};

    bool operator==(const PrivacyRules&) const = default;
};

// How often each type was masked; never what.
using MaskCounts = std::map<std::string, std::uint64_t>;

// What became of the files that a run was given or has made, from the side of the kernel.
struct FileAccess {
    std::vector<std::string> read{};
    std::vector<std::string> written{};  // created or changed
    std::vector<std::string> deleted{};
    std::uint64_t more = 0;  // that are not listed
    bool complete = false;   // whether a read cannot have been missed

    bool operator==(const FileAccess&) const = default;
};

// What the kernel counted in the jar's own network, which leads nowhere.
struct NetworkAttempts {
    std::uint64_t without_route = 0;    // packets or connections that had no way to go
    std::uint64_t connections = 0;      // opened by TCP, also to the jar itself
    std::uint64_t datagrams = 0;        // sent by UDP, also to the jar itself
    std::vector<std::string> places{};  // where it wanted to connect, as far as that is known

    bool operator==(const NetworkAttempts&) const = default;
};

// Something that whoever watches over this server may want to know at once.
struct SecurityEvent {
    // "denial", "escape", "scan", "tool", "quota", "grade", "policy", "audit", "access"
    std::string kind{};
    std::string name{};  // what it was, within the kind: the rule of a denial, "changed", ...
    Severity severity = Severity::Low;
    std::chrono::system_clock::time_point time{};
    std::string principal{};
    std::optional<std::string> execution_id{};
    std::optional<std::string> conversation_id{};
    std::string text{};                            // a sentence
    std::map<std::string, std::string> details{};  // short, without secrets
};

}  // namespace belljar::execution
