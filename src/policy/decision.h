#pragma once

#include "base/result.h"
#include "config/settings.h"
#include "execution/limit_choices.h"
#include "execution/plan.h"

namespace belljar::policy {

// What the operator allows. Built once from the configuration.
struct Policy {
    execution::Limits defaults{};
    execution::Limits maximum{};
    Bytes code_limit = mebibytes(1);
};

[[nodiscard]] Policy policy_from(const config::LimitSettings& limits);

// The same for a language whose programs need other limits than most, as far as the maximum allows.
[[nodiscard]] Policy with_defaults(Policy policy, const execution::LimitChoices& choices);

// The plan for a request, or the sentence that refuses it. A limit beyond what the operator gives
// is lowered to that, which the plan tells; one that makes no sense anywhere is refused.
// Pure: same input, same answer.
[[nodiscard]] Result<execution::RunPlan> decide(const Policy& policy,
                                                execution::RunRequest request);

}  // namespace belljar::policy
