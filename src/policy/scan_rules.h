#pragma once

#include <span>
#include <string>
#include <string_view>

#include "execution/governance.h"

namespace belljar::policy {

// Something that the readers in guest/ look for in the tree of a program. The names are stable:
// policy files and records use them.
struct ScanRule {
    std::string_view name;
    execution::Severity severity;
    std::string_view text;  // a sentence; {} is what was found, by name
};

[[nodiscard]] std::span<const ScanRule> scan_rules();
// nullptr if there is none of this name.
[[nodiscard]] const ScanRule* find_scan_rule(std::string_view name);

// The sentence. `subject` is a name from the program, never a value; empty: none.
[[nodiscard]] std::string describe(const ScanRule& rule, std::string_view subject);

}  // namespace belljar::policy
