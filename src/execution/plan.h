#pragma once

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
};

}  // namespace belljar::execution
