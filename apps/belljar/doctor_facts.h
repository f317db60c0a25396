#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cgroup/cgroupfs.h"
#include "config/settings.h"
#include "host/file_systems.h"
#include "host/hardening.h"
#include "host/kernel.h"
#include "host/landlock.h"
#include "host/namespaces.h"
#include "host/privileges.h"
#include "host/seccomp.h"
#include "host/user_ids.h"

namespace belljar::apps {

// One cgroup hierarchy as this process is in it.
struct CgroupFacts {
    bool unified = false;  // version 2
    std::string own_directory{};
    std::vector<std::string> controllers{};

    [[nodiscard]] bool has(std::string_view controller) const;
};

// Everything the checks judge, found out once. Taken before any privilege is dropped.
struct HostFacts {
    config::Settings settings{};
    host::Kernel kernel{};
    host::Privileges privileges{};
    std::string container{};  // empty if this is none
    std::vector<host::NamespaceTrial> namespaces{};
    host::UnprivilegedTrial unprivileged{};
    host::NamespaceLimits namespace_limits{};
    host::UserIds user_ids{};
    host::Seccomp seccomp{};
    host::Landlock landlock{};
    host::Hardening hardening{};
    std::vector<CgroupFacts> cgroups{};

    // Root that may do what root usually may; root of a container often may not.
    [[nodiscard]] bool is_administrator() const;
    // The user ids of jars exist: root of a user namespace has only those mapped into it.
    [[nodiscard]] bool has_user_ids() const;
    // Both, so jars can be made the strongest way.
    [[nodiscard]] bool has_root() const { return is_administrator() && has_user_ids(); }
};

[[nodiscard]] HostFacts gather_facts(const config::Settings& settings);

// "EPERM", "signal 31", or "works".
[[nodiscard]] std::string describe(const host::Attempt& attempt);

}  // namespace belljar::apps
