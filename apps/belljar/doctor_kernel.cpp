#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "doctor_checks.h"
#include "doctor_modes.h"

namespace belljar::apps {
namespace {

using host::Capability;

constexpr host::KernelVersion kOldestKernel{.major = 5, .minor = 14};

// --- Kernel

Check check_version(const host::Kernel& kernel) {
    Check check{.name = "kernel", .found = fmt::format("{} {}", kernel.release, kernel.machine)};
    if (kernel.version < kOldestKernel) {
        check.health = Health::Bad;
        check.fix = "use Linux 5.14 or later: jars need clone3, mount_setattr and cgroup.kill";
    }
    return check;
}

Check check_system_calls() {
    const std::vector<std::string> missing = host::missing_system_calls();
    if (missing.empty()) {
        return {.name = "system calls", .found = "all that jars need are known"};
    }
    return {.name = "system calls",
            .health = Health::Weak,
            .found = fmt::format("not known here: {}", fmt::join(missing, ", ")),
            .fix = "use Linux 5.14 or later, or a container engine that lets them through"};
}

Check check_privilege(const HostFacts& facts) {
    Check check{.name = "privilege"};
    if (facts.has_root()) {
        check.found = "root; the server itself runs without privileges";
    } else if (facts.is_administrator()) {
        check.health = Health::Weak;
        check.found = "root, but of a user namespace without the user ids of jars";
        check.fix = "see \"user ids\"";
    } else if (facts.privileges.effective_user == 0) {
        check.health = Health::Weak;
        check.found = "root without CAP_SYS_ADMIN, as in a container";
        check.fix = "see \"root mode\": with CAP_SYS_ADMIN each jar gets a user id of its own";
    } else {
        check.health = Health::Weak;
        check.found = fmt::format("user {}, not root", facts.privileges.effective_user);
        check.fix = "sudo belljar ...: as root each jar gets a user id of its own";
    }
    return check;
}

// What the warden does as root, one capability each: namespaces and mounts, the loopback interface,
// the jar's identity, ending processes of other users, and cgroups that deny writing even to root.
Check check_capabilities(const HostFacts& facts) {
    constexpr std::array<Capability, 6> kNeeded{Capability::SysAdmin, Capability::NetAdmin,
                                                Capability::SetUid,   Capability::SetGid,
                                                Capability::Kill,     Capability::DacOverride};
    if (!facts.is_administrator()) {
        return {.name = "capabilities",
                .health = Health::Info,
                .found = facts.privileges.effective == 0 ? "none" : "not those of root"};
    }
    std::vector<std::string_view> missing;
    for (const Capability capability : kNeeded) {
        if (!facts.privileges.has(capability)) {
            missing.push_back(name_of(capability));
        }
    }
    if (missing.empty()) {
        return {.name = "capabilities", .found = "all that making a jar takes"};
    }
    return {.name = "capabilities",
            .health = Health::Weak,
            .found = fmt::format("root without {}", fmt::join(missing, ", ")),
            .fix = fmt::format("start belljar with {}", fmt::join(missing, ", "))};
}

Check check_container(const HostFacts& facts) {
    return {.name = "container",
            .health = Health::Info,
            .found = facts.container.empty() ? "not in one" : "in one: " + facts.container};
}

// --- Namespaces

std::string fix_of_namespace(const host::NamespaceTrial& trial, const HostFacts& facts) {
    if (trial.made.sys_errno == ENOSPC || facts.namespace_limits.smallest == 0) {
        return fmt::format("sudo sysctl -w user.max_{}_namespaces=65536", trial.name);
    }
    if (trial.made.sys_errno == EINVAL || trial.made.sys_errno == ENOSYS) {
        return "use a kernel with namespaces of every kind built in";
    }
    return facts.has_root() ? "let the process make namespaces: no seccomp filter, no chroot"
                            : judge_rootless(facts).fix;
}

Check check_kinds(const HostFacts& facts) {
    std::vector<std::string> made;
    std::vector<std::string> refused;
    std::string fix;
    for (const host::NamespaceTrial& trial : facts.namespaces) {
        if (trial.made.worked()) {
            made.push_back(trial.name);
            continue;
        }
        refused.push_back(fmt::format("{} ({})", trial.name, describe(trial.made)));
        fix = fix.empty() ? fix_of_namespace(trial, facts) : std::move(fix);
    }
    if (refused.empty()) {
        return {.name = "namespaces",
                .found = fmt::format("{} can be made", fmt::join(made, ", "))};
    }
    return {.name = "namespaces",
            .health = Health::Weak,
            .found = fmt::format("refused: {}", fmt::join(refused, ", ")),
            .fix = fix.empty() ? "start belljar as root: sudo belljar ..." : fix};
}

Check check_namespace_limits(const HostFacts& facts) {
    const host::NamespaceLimits& limits = facts.namespace_limits;
    const std::int64_t needed = std::int64_t{facts.settings.limits.concurrent_runs} + 1;
    Check check{.name = "namespace limits"};
    if (!limits.smallest) {
        check.health = Health::Info;
        check.found = "this kernel shows none";
        return check;
    }
    check.found = fmt::format("at most {} of a kind ({})", *limits.smallest, limits.scarcest);
    if (*limits.smallest < needed) {
        check.health = Health::Weak;
        check.fix = fmt::format("sudo sysctl -w user.max_{}_namespaces=65536", limits.scarcest);
    }
    return check;
}

Check check_user_namespaces(const HostFacts& facts) {
    const LaunchMode rootless = judge_rootless(facts);
    Check check{.name = "user namespaces"};
    if (rootless.obstacle.empty()) {
        check.found = "can be made without privileges";
    } else {
        // Root does not need them, and a host may have good reasons to refuse them.
        check.health = facts.has_root() ? Health::Info : Health::Weak;
        check.found = rootless.obstacle;
        check.fix = facts.has_root() ? "" : rootless.fix;
    }
    return check;
}

Check check_apparmor(const HostFacts& facts) {
    const host::NamespaceLimits& limits = facts.namespace_limits;
    Check check{.name = "apparmor", .health = Health::Info};
    check.found = limits.apparmor ? "on" : "off";
    if (limits.apparmor && limits.apparmor_restricts_unprivileged.value_or(0) != 0) {
        check.found = "on; user namespaces without privileges get no capability";
    }
    return check;
}

Check check_user_ids(const HostFacts& facts) {
    const config::IsolationSettings& chosen = facts.settings.isolation;
    const host::IdRange range{.first = chosen.uid_base, .count = chosen.uid_count};
    Check check{.name = "user ids"};
    if (!facts.is_administrator()) {
        check.health = Health::Info;
        check.found = "all jars have that of this process; only root can give each its own";
        return check;
    }
    check.found = fmt::format("{} from {} on, one for each jar", range.count, range.first);
    const auto owner = std::ranges::find_if(
        facts.user_ids.taken,
        [&range](const host::IdRange& taken) { return taken.overlaps(range); });
    if (!facts.has_user_ids()) {
        check.health = Health::Weak;
        check.found += "; not all of them exist in this user namespace";
        check.fix = "set isolation.uid_base and isolation.uid_count to ids in /proc/self/uid_map";
    } else if (owner != facts.user_ids.taken.end()) {
        check.health = Health::Weak;
        check.found += fmt::format("; {} has some of them", owner->owner);
        check.fix = "set isolation.uid_base to ids that neither /etc/passwd nor /etc/subuid has";
    }
    return check;
}

}  // namespace

CheckGroup check_kernel(const HostFacts& facts) {
    return {.name = "Kernel",
            .checks = {check_version(facts.kernel), check_system_calls(), check_privilege(facts),
                       check_capabilities(facts), check_container(facts)}};
}

CheckGroup check_namespaces(const HostFacts& facts) {
    return {.name = "Namespaces",
            .checks = {check_kinds(facts), check_namespace_limits(facts),
                       check_user_namespaces(facts), check_apparmor(facts), check_user_ids(facts)}};
}

}  // namespace belljar::apps
