#pragma once

#include <map>
#include <string>

#include "config/problems.h"
#include "execution/limits.h"
#include "policy/policy_file.h"
#include "policy/profile.h"

namespace belljar::policy {

// Makes whole profiles of those that are written, and adds them to those that there are. Goes to
// the problems: a name that is taken, something to extend that is not there, a circle, a limit
// above the operator's, a network that the operator does not allow.
void resolve(const PolicyDraft& draft, const execution::Limits& maximum, config::Switch network,
             std::map<std::string, Profile, std::less<>>& profiles, config::Problems& problems);

}  // namespace belljar::policy
