#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "execution/governance.h"
#include "execution/plan.h"

namespace belljar::engine {

// What is said of a plan's program because of what was found in it.

[[nodiscard]] Error scan_refusal(const execution::RunPlan& plan,
                                 const std::vector<execution::Finding>& findings);
// Why a person has to agree first, and how that is done.
[[nodiscard]] Error scan_question(const execution::RunPlan& plan,
                                  const std::vector<execution::Finding>& findings);
[[nodiscard]] execution::SecurityEvent scan_event(const execution::RunPlan& plan,
                                                  const execution::Finding& finding);

}  // namespace belljar::engine
