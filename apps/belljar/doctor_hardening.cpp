#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>

#include "doctor_checks.h"
#include "engine/warden_process.h"
#include "host/programs.h"

namespace belljar::apps {
namespace {

Check check_seccomp(const host::Seccomp& seccomp) {
    constexpr std::array<std::string_view, 2> kNeeded{"kill_process", "errno"};
    Check check{.name = "seccomp",
                .found = fmt::format("filters can be installed; actions: {}",
                                     fmt::join(seccomp.actions, " "))};
    if (!seccomp.filter.worked()) {
        check.health = Health::Weak;
        check.found = fmt::format("no filter can be installed ({})", describe(seccomp.filter));
        check.fix = "use a kernel with CONFIG_SECCOMP_FILTER=y";
        return check;
    }
    for (const std::string_view action : kNeeded) {
        if (!seccomp.has(action)) {
            check.health = Health::Weak;
            check.fix = fmt::format("use a kernel with the action {} (Linux 4.14)", action);
        }
    }
    return check;
}

Check check_landlock(const HostFacts& facts) {
    const host::Landlock& landlock = facts.landlock;
    Check check{.name = "landlock"};
    if (landlock.abi == 0) {
        const bool too_old = facts.kernel.version < host::KernelVersion{.major = 5, .minor = 13};
        check.health = Health::Weak;
        check.found = "none";
        check.fix = too_old ? "use Linux 5.13 or later"
                            : "put landlock first in lsm= on the kernel command line and reboot";
        return check;
    }
    check.found = fmt::format("ABI {}: {}", landlock.abi,
                              fmt::join(host::landlock_features(landlock.abi), ", "));
    if (const auto gaps = host::landlock_gaps(landlock.abi); !gaps.empty()) {
        check.found += fmt::format("; not yet: {}", fmt::join(gaps, ", "));
    }
    if (landlock.errata != 0) {
        check.found += fmt::format("; errata {:#x}", landlock.errata);
    }
    return check;
}

Check check_write_execute(const HostFacts& facts) {
    const bool can = facts.hardening.can_deny_write_execute;
    return {.name = "mdwe",
            .health = can ? Health::Good : Health::Info,
            .found = can ? "memory that is written can be kept from being run"
                         : "no PR_SET_MDWE; it came with Linux 6.3"};
}

Check check_socket_families(const HostFacts& facts) {
    const std::vector<std::string>& families = facts.hardening.socket_families;
    return {.name = "socket families",
            .health = Health::Info,
            .found = families.empty() ? "only IP, unix and netlink are loaded"
                                      : fmt::format("loaded beside IP, unix and netlink: {}",
                                                    fmt::join(families, ", "))};
}

Check check_foreign_calls() {
    const host::ForeignCalls calls = host::probe_foreign_calls();
    Check check{.name = "ia32", .health = Health::Info, .found = "off"};
    if (calls.ia32) {
        check.found = "on: 32-bit system calls reach the kernel";
        check.fix = "if nothing needs them: ia32_emulation=0 on the kernel command line";
    }
    check.found += calls.x32 ? "; x32 on" : "; x32 off";
    return check;
}

Check check_core_pattern(const HostFacts& facts) {
    const std::string& handler = facts.hardening.core_handler;
    if (handler.empty()) {
        return {.name = "core_pattern", .found = "cores are not piped to a program"};
    }
    return {.name = "core_pattern",
            .health = Health::Weak,
            .found = fmt::format("cores are piped to {}, which runs as root", handler),
            .fix = "sudo sysctl -w kernel.core_pattern=core"};
}

Check check_merging(const HostFacts& facts) {
    if (!facts.hardening.memory_is_merged) {
        return {.name = "ksm", .found = "off"};
    }
    return {.name = "ksm",
            .health = Health::Weak,
            .found = "on: equal memory of different jars can be told by its timing",
            .fix = "echo 2 | sudo tee /sys/kernel/mm/ksm/run"};
}

Check check_terminal_input(const HostFacts& facts) {
    const bool off = facts.hardening.legacy_tiocsti == 0;
    Check check{.name = "tiocsti", .health = off ? Health::Good : Health::Info};
    check.found = off ? "off" : "on: a program can type into its terminal; jars have none";
    check.fix =
        facts.hardening.legacy_tiocsti == 1 ? "sudo sysctl -w dev.tty.legacy_tiocsti=0" : "";
    return check;
}

Check check_tracing(const HostFacts& facts) {
    const std::optional<std::int64_t> scope = facts.hardening.ptrace_scope;
    return {.name = "yama",
            .health = scope.value_or(0) > 0 ? Health::Good : Health::Info,
            .found = scope ? fmt::format("ptrace_scope {}", *scope) : "not in this kernel",
            .fix = scope == 0 ? "sudo sysctl -w kernel.yama.ptrace_scope=1" : ""};
}

Check check_threads(const HostFacts& facts) {
    const bool shared = facts.hardening.threads_share_cores;
    return {.name = "smt",
            .health = shared ? Health::Info : Health::Good,
            .found = shared ? "on: two jars can share a core and its caches" : "off",
            .fix = shared ? "where tenants distrust each other: echo off | sudo tee "
                            "/sys/devices/system/cpu/smt/control"
                          : ""};
}

// --- Tools

Check check_warden() {
    const Result<std::string> warden = engine::find_warden();
    return {.name = "warden",
            .health = warden ? Health::Good : Health::Bad,
            .found = warden ? "belljar-warden found beside belljar" : warden.error().message,
            .fix = warden ? "" : "build or install belljar and belljar-warden together"};
}

Check check_python() {
    const bool there = ::access("/usr/bin/python3", X_OK) == 0;
    return {.name = "python",
            .health = there ? Health::Good : Health::Bad,
            .found = there ? "/usr/bin/python3" : "no /usr/bin/python3",
            .fix = there ? "" : "apt-get install python3"};
}

Check check_kvm() {
    const host::Kvm kvm = host::probe_kvm();
    Check check{.name = "kvm", .health = Health::Info, .found = "no /dev/kvm"};
    if (kvm.present && kvm.sys_errno == 0) {
        check.found = "/dev/kvm can be used";
    } else if (kvm.present) {
        check.found = fmt::format("/dev/kvm is refused ({})",
                                  describe(host::Attempt{.sys_errno = kvm.sys_errno}));
        check.fix = "sudo usermod -aG kvm \"$USER\", then log in again";
    }
    return check;
}

Check check_container_runtimes() {
    std::vector<std::string> found;
    for (const char* name : {"runc", "crun", "runsc", "docker", "podman"}) {
        if (std::string path = host::find_program(name, host::search_path()); !path.empty()) {
            found.push_back(std::move(path));
        }
    }
    return {.name = "oci runtimes",
            .health = Health::Info,
            .found =
                found.empty() ? "none; none is needed" : fmt::format("{}", fmt::join(found, ", "))};
}

}  // namespace

CheckGroup check_hardening(const HostFacts& facts) {
    return {.name = "Hardening",
            .checks = {check_seccomp(facts.seccomp), check_landlock(facts),
                       check_write_execute(facts), check_socket_families(facts),
                       check_foreign_calls(), check_core_pattern(facts), check_merging(facts),
                       check_terminal_input(facts), check_tracing(facts), check_threads(facts)}};
}

CheckGroup check_tools() {
    return {.name = "Tools",
            .checks = {check_warden(), check_python(), check_kvm(), check_container_runtimes()}};
}

}  // namespace belljar::apps
