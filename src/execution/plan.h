#pragma once

#include <string>
#include <vector>

#include "execution/limits.h"
#include "execution/request.h"

namespace belljar::execution {

// What policy allows of a request: the same program under limits that are now fixed.
struct RunPlan {
    std::string execution_id{};  // given with its place; empty before
    RunRequest request{};
    Limits limits{};
    std::vector<CappedLimit> capped{};
};

}  // namespace belljar::execution
