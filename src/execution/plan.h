#pragma once

#include <optional>
#include <string>
#include <vector>

#include "execution/governance.h"
#include "execution/limits.h"
#include "execution/request.h"

namespace belljar::execution {

// What policy allows of a request: the same program under limits that are now fixed.
struct RunPlan {
    std::string execution_id{};  // given with its place; empty before
    RunRequest request{};
    Limits limits{};
    std::vector<CappedLimit> capped{};
    std::string profile = "standard";
    std::string policy_version{};  // digest of the rules that were in force
    std::vector<Finding> findings{};
    PrivacyRules privacy{};
    // Approved tools that it may use, by the names of their sets; nothing: all of them.
    std::optional<std::vector<std::string>> tool_sets{};
};

}  // namespace belljar::execution
