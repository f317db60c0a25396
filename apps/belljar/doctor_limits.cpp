#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "doctor_checks.h"
#include "host/programs.h"

namespace belljar::apps {
namespace {

using host::Capability;

enum class Version { One, Two };

std::string_view describe_layout(const std::vector<CgroupFacts>& cgroups) {
    const auto unified = std::ranges::count_if(cgroups, &CgroupFacts::unified);
    return unified == 0 ? "v1" : unified == std::ssize(cgroups) ? "v2" : "hybrid";
}

// What gives this process cgroups that it may use, of the version that carries the controller.
std::string delegation_fix(const HostFacts& facts, Version version) {
    if (facts.has_root() && !facts.privileges.has(Capability::DacOverride)) {
        return "see \"capabilities\"";
    }
    if (!facts.container.empty()) {
        return "start the container with a writable /sys/fs/cgroup and a cgroup of its own";
    }
    if (facts.has_root()) {
        return "systemd-run --scope -p Delegate=yes belljar ..., or Delegate=yes in its unit";
    }
    return version == Version::Two
               ? "systemd-run --user --scope -p Delegate=yes belljar ..., or start it as root"
               : "sudo belljar ...: only root can use cgroup v1";
}

// Whether sub-cgroups with limits can be made below the own one, as far as it shows before.
bool is_delegated(const CgroupFacts& hierarchy) {
    const auto writable = [](const std::string& path) {
        return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
    };
    return writable(hierarchy.own_directory) &&
           (!hierarchy.unified || writable(hierarchy.own_directory + "/cgroup.subtree_control"));
}

Check check_layout(const HostFacts& facts) {
    Check check{.name = "cgroups"};
    if (facts.cgroups.empty()) {
        check.health = Health::Weak;
        check.found = "none mounted";
        check.fix = facts.container.empty() ? "sudo mount -t cgroup2 none /sys/fs/cgroup"
                                            : delegation_fix(facts, Version::Two);
        return check;
    }
    std::vector<std::string> parts;
    for (const CgroupFacts& hierarchy : facts.cgroups) {
        const bool unified = hierarchy.unified;
        parts.push_back(fmt::format("{} [{}]{}", unified ? "v2" : "v1",
                                    fmt::join(hierarchy.controllers, " "),
                                    is_delegated(hierarchy) ? "" : " (not writable)"));
    }
    check.found = fmt::format("{}: {}", describe_layout(facts.cgroups), fmt::join(parts, ", "));
    return check;
}

Check check_controller(std::string name, std::string_view controller, const HostFacts& facts) {
    Check check{.name = std::move(name)};
    const auto found = std::ranges::find_if(
        facts.cgroups,
        [controller](const CgroupFacts& hierarchy) { return hierarchy.has(controller); });
    if (found == facts.cgroups.end()) {
        check.health = Health::Weak;
        check.found = fmt::format("no cgroup offers the {} controller to this process", controller);
        check.fix = facts.cgroups.empty() ? "see \"cgroups\"" : delegation_fix(facts, Version::Two);
    } else if (!is_delegated(*found)) {
        check.health = Health::Weak;
        check.found =
            fmt::format("the {} controller is there, but this process may not use it", controller);
        check.fix = delegation_fix(facts, found->unified ? Version::Two : Version::One);
    } else {
        check.found =
            fmt::format("by the {} controller of cgroup v{}", controller, found->unified ? 2 : 1);
    }
    return check;
}

Check check_swap(const HostFacts& facts) {
    const std::vector<std::string>& swaps = facts.hardening.swaps;
    Check check{.name = "swap"};
    if (swaps.empty()) {
        check.found = "off";
        return check;
    }
    const bool in_memory = std::ranges::all_of(
        swaps, [](const std::string& name) { return name.starts_with("/dev/zram"); });
    check.health = in_memory ? Health::Info : Health::Weak;
    check.found = fmt::format("on: {}", fmt::join(swaps, ", "));
    check.fix = in_memory ? "" : "sudo swapoff -a, or encrypt it: memory of jars may reach a disk";
    return check;
}

// --- Files

// Binds that are read-only before anybody can see them take the newer calls.
Check check_mount_calls() {
    const std::vector<std::string> missing = host::missing_mount_calls();
    if (missing.empty()) {
        return {.name = "mount api",
                .found = "the calls that build mounts by descriptor are known"};
    }
    return {.name = "mount api",
            .health = Health::Weak,
            .found = fmt::format("not known here: {}", fmt::join(missing, ", ")),
            .fix = "use Linux 5.14 or later"};
}

Check check_overlay(const HostFacts& facts) {
    const host::Attempt trial = facts.has_root() ? host::try_overlay() : facts.unprivileged.overlay;
    if (trial.worked()) {
        return {.name = "overlay", .found = "can be mounted"};
    }
    return {.name = "overlay",
            .health = Health::Info,
            .found = fmt::format("cannot be mounted ({})", describe(trial)),
            .fix = trial.sys_errno == ENODEV ? "sudo modprobe overlay" : ""};
}

Check check_erofs() {
    const bool known = host::read_file_systems().has("erofs");
    return {.name = "erofs",
            .health = Health::Info,
            .found = known ? "known" : "not built in and not loaded",
            .fix = known ? "" : "sudo modprobe erofs"};
}

// A hard limit takes a disk image on a loop device. A tmpfs has a size as well, but lies in memory.
Check check_workspace(const HostFacts& facts) {
    Check check{.name = "workspace limit"};
    if (!facts.has_root()) {
        check.health = Health::Info;
        check.found = "a tmpfs of fixed size; a disk image takes root";
        return check;
    }
    check.health = Health::Weak;
    const host::Attempt loop = host::try_loop_control();
    if (!loop.worked()) {
        check.found = fmt::format("no loop devices ({}), so a tmpfs of fixed size", describe(loop));
        check.fix =
            facts.container.empty() ? "sudo modprobe loop" : "give the container /dev/loop-control";
    } else if (host::find_program("mkfs.ext4", host::search_path()).empty()) {
        check.found = "no mkfs.ext4, so a tmpfs of fixed size";
        check.fix = "apt-get install e2fsprogs";
    } else {
        check.health = Health::Good;
        check.found = "loop devices and mkfs.ext4 are there for disk images of fixed size";
    }
    return check;
}

Check check_quota(const HostFacts& facts) {
    const host::Quota quota = host::read_quota(facts.kernel.release);
    return {.name = "quota",
            .health = Health::Info,
            .found = !quota.supported ? "not in this kernel"
                     : quota.formats.empty()
                         ? "in this kernel; no format found"
                         : fmt::format("in this kernel: {}", fmt::join(quota.formats, ", "))};
}

}  // namespace

CheckGroup check_limits(const HostFacts& facts) {
    return {.name = "Limits",
            .checks = {check_layout(facts), check_controller("memory limit", "memory", facts),
                       check_controller("process limit", "pids", facts),
                       check_controller("cpu share", "cpu", facts), check_swap(facts)}};
}

CheckGroup check_files(const HostFacts& facts) {
    return {.name = "Files",
            .checks = {check_mount_calls(), check_overlay(facts), check_erofs(),
                       check_workspace(facts), check_quota(facts)}};
}

}  // namespace belljar::apps
