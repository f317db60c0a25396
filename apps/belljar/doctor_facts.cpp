#include "doctor_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "host/container.h"

namespace belljar::apps {
namespace {

// Version 1 mounts each controller on a directory of its name; version 2 says what it hands down.
CgroupFacts facts_of(const cgroup::Hierarchy& hierarchy) {
    const std::string& mount = hierarchy.mount_point;
    return {.unified = hierarchy.unified,
            .own_directory = hierarchy.own_directory,
            .controllers = hierarchy.unified
                               ? cgroup::read_words(hierarchy.own_directory + "/cgroup.controllers")
                               : std::vector{mount.substr(mount.rfind('/') + 1)}};
}

}  // namespace

bool HostFacts::is_administrator() const {
    return privileges.effective_user == 0 && privileges.has(host::Capability::SysAdmin);
}

bool HostFacts::has_user_ids() const {
    const host::IdRange range{.first = settings.isolation.uid_base,
                              .count = settings.isolation.uid_count};
    return std::ranges::any_of(user_ids.existing, [&range](const host::IdRange& existing) {
        return existing.contains(range);
    });
}

bool CgroupFacts::has(std::string_view controller) const {
    return std::ranges::find(controllers, controller) != controllers.end();
}

HostFacts gather_facts(const config::Settings& settings) {
    HostFacts facts{.settings = settings,
                    .kernel = host::read_kernel(),
                    .privileges = host::read_privileges(),
                    .container = host::container_of(host::read_container_traces()),
                    .namespaces = host::try_namespaces(),
                    .unprivileged = host::try_unprivileged(),
                    .namespace_limits = host::read_namespace_limits(),
                    .user_ids = host::read_user_ids(),
                    .seccomp = host::probe_seccomp(),
                    .landlock = host::probe_landlock(),
                    .hardening = host::read_hardening()};
    for (const cgroup::Hierarchy& hierarchy : cgroup::read_layout()) {
        facts.cgroups.push_back(facts_of(hierarchy));
    }
    return facts;
}

std::string describe(const host::Attempt& attempt) {
    if (attempt.signal != 0) {
        return fmt::format("signal {}", attempt.signal);
    }
    if (attempt.sys_errno == 0) {
        return "works";
    }
    const char* name = ::strerrorname_np(attempt.sys_errno);
    return name == nullptr ? fmt::format("errno {}", attempt.sys_errno) : name;
}

}  // namespace belljar::apps
