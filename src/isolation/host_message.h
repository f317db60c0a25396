#pragma once

#include <array>
#include <cstdint>

#include "jar/spec.h"

namespace belljar::isolation {

inline constexpr std::size_t kMostTrees = 8;

// What the keeper found out and prepared, told to the warden before anything else: one packet of
// fixed size. The template of workspaces comes along as a descriptor, if there is one.
struct HostMessage {
    jar::Mode mode;
    // The user ids that jars may have; none: every jar has ours, which is 0 in a user namespace.
    std::uint32_t first_user;
    std::uint32_t user_count;
    std::uint32_t landlock_abi;        // 0: this kernel has none
    std::uint32_t can_deny_execution;  // 1: the kernel has PR_SET_MDWE
    std::uint32_t small_workspaces;    // 1: so small that memory is their place
    std::uint32_t tree_count;
    jar::HostPath init;     // belljar-init
    jar::HostPath root;     // where the system directories come from; empty: the host's own
    jar::HostPath logs;     // shown at /logs to jars that ask for it; empty: nothing
    jar::HostPath scratch;  // directory for the disk space of jars
    std::array<jar::HostPath, kMostTrees> trees;  // cgroup directories
};

}  // namespace belljar::isolation
