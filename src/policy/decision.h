#pragma once

#include "base/result.h"
#include "config/settings.h"
#include "execution/limit_choices.h"
#include "execution/plan.h"
#include "policy/rulebook.h"

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

// The same under a profile: neither the usual limits nor the highest exceed what it gives.
[[nodiscard]] Policy within(Policy policy, const Profile& profile);

// What a profile has against a request in a language, apart from its limits and its text. Denied
// with a sentence.
[[nodiscard]] Result<void> check_profile(const Profile& profile,
                                         const execution::RunRequest& request,
                                         std::string_view language);

// Writes into a plan what the profile says about it.
void apply_profile(const Rulebook& rules, const Profile& profile, std::string_view language,
                   execution::RunPlan& plan);

// The plan for a request, or the sentence that refuses it. A limit beyond what the operator gives
// is lowered to that, which the plan tells; one that makes no sense anywhere is refused.
// Pure: same input, same answer.
[[nodiscard]] Result<execution::RunPlan> decide(const Policy& policy,
                                                execution::RunRequest request);

}  // namespace belljar::policy
