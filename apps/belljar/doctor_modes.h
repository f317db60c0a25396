#pragma once

#include <string>
#include <vector>

#include "doctor_check.h"
#include "doctor_facts.h"

namespace belljar::apps {

// A way to launch jars, and whether this process on this host could take it.
struct LaunchMode {
    std::string name{};
    std::string obstacle{};  // empty if it is possible
    std::string fix{};
};

// The strongest first: root, rootless, nested.
[[nodiscard]] std::vector<LaunchMode> launch_modes(const HostFacts& facts);

// The first that is possible, or "none".
[[nodiscard]] std::string chosen_mode(const std::vector<LaunchMode>& modes);

[[nodiscard]] CheckGroup check_modes(const std::vector<LaunchMode>& modes);

// What stands in the way of a user namespace made without privileges, and what to do about it.
[[nodiscard]] LaunchMode judge_rootless(const HostFacts& facts);

}  // namespace belljar::apps
