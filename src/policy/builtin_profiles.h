#pragma once

#include <vector>

#include "config/settings.h"
#include "policy/profile.h"

namespace belljar::policy {

// Those that every installation has: standard, basic, data_science, network and filesystem. Policy
// files can extend them and cannot change them. `network`: whether the operator lets policy allow
// programs a network.
[[nodiscard]] std::vector<Profile> builtin_profiles(config::Switch network);

// What the switches of the settings select, if that is no profile of its own: a union of several,
// or the modules of policy.allowed_imports. Nothing if they select one that there is, or none.
[[nodiscard]] std::optional<Profile> selected_profile(const config::PolicySettings& settings);
// The name of what is in force for callers that have no profile of their own.
[[nodiscard]] std::string default_profile_name(const config::PolicySettings& settings);

// Types of personal data that can be masked.
[[nodiscard]] const std::vector<std::string_view>& maskable_types();

}  // namespace belljar::policy
