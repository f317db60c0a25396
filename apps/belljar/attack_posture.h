#pragma once

#include <string>
#include <vector>

#include "attack_processes.h"
#include "execution/result.h"

namespace belljar::apps {

// Looks from outside at every thread of the jar among these processes: users, groups,
// capabilities, no_new_privs, filter, pid namespace. Says what is not as it must be under this
// isolation.
[[nodiscard]] std::string examine_posture(const std::vector<ProcessEntry>& processes,
                                          const execution::Isolation& isolation);

// The host's user of the guest among these processes; empty if there is none.
[[nodiscard]] std::string find_guest_user(const std::vector<ProcessEntry>& processes);

}  // namespace belljar::apps
