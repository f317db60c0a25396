#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "config/problems.h"
#include "execution/governance.h"
#include "policy/profile.h"

namespace belljar::policy {

inline constexpr Bytes kLargestPolicyFile = mebibytes(1);

// A policy file as it was read.
struct PolicyText {
    std::string name{};  // for messages
    std::string text{};
};

// Where something is written: "policy.toml:7".
struct Place {
    std::string file{};
    std::size_t line = 0;

    [[nodiscard]] std::string describe() const;
};

// A list as it is written: instead of what is taken over, added to it, or taken out of it.
struct ImportsDraft {
    std::optional<Imports> instead{};
    std::vector<std::string> add{};
    std::vector<std::string> remove{};
};

// A profile as it is written; what it does not say it takes over.
struct ProfileDraft {
    std::string name{};
    Place place{};
    std::optional<std::string> description{};
    std::optional<std::string> extends{};
    Place extends_place{};
    ImportsDraft python{};
    ImportsDraft javascript{};
    std::optional<Names> languages{};
    std::optional<Network> network{};
    LimitCaps limits{};
    std::map<std::string, Place> limit_places{};
    std::optional<Names> tool_sets{};
    std::optional<config::IsolationFloor> isolation{};
    std::optional<std::vector<std::string>> warn_builtins{};
    std::vector<std::pair<execution::Severity, execution::ScanAction>> by_severity{};
    std::vector<std::pair<std::string, execution::ScanAction>> by_rule{};
    std::optional<std::vector<std::string>> mask{};
};

// Which profile something has.
struct RuleDraft {
    std::string profile{};
    Place place{};
};

// What all files together say, with every name known once.
struct PolicyDraft {
    std::map<std::string, ProfileDraft> profiles{};
    std::map<std::string, RuleDraft> principals{};
    std::map<std::string, RuleDraft> tool_sets{};
    std::optional<RuleDraft> default_profile{};
};

// Adds what a file says to the draft, and to the problems what is wrong with it: the place, the
// key, what is allowed. The text may be anything.
void read_policy(const PolicyText& file, PolicyDraft& draft, config::Problems& problems);

}  // namespace belljar::policy
