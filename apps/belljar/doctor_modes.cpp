#include "doctor_modes.h"

#include <fmt/format.h>

#include <cerrno>

#include "jar/landlock.h"

namespace belljar::apps {
namespace {

LaunchMode judge_root(const HostFacts& facts) {
    LaunchMode mode{.name = "root"};
    if (facts.privileges.effective_user != 0) {
        mode.obstacle = fmt::format("this is user {}, not root", facts.privileges.effective_user);
        mode.fix = "sudo belljar ...; it drops root before it reads any request";
    } else if (!facts.is_administrator()) {
        mode.obstacle =
            facts.container.empty()
                ? "root without CAP_SYS_ADMIN"
                : fmt::format("root without CAP_SYS_ADMIN, in a container ({})", facts.container);
        mode.fix = "start it outside of a container, or give the container CAP_SYS_ADMIN";
    } else if (!facts.has_user_ids()) {
        mode.obstacle = "the user ids of jars do not exist in this user namespace";
        mode.fix = "see \"user ids\"";
    }
    return mode;
}

// The setting of the administrator that most likely refused it; empty if none is known to.
std::string fix_of_setting(const HostFacts& facts) {
    const host::NamespaceLimits& limits = facts.namespace_limits;
    if (limits.user_namespaces == 0) {
        return "sudo sysctl -w user.max_user_namespaces=65536";
    }
    if (limits.unprivileged_userns_clone == 0) {
        return "sudo sysctl -w kernel.unprivileged_userns_clone=1";
    }
    if (limits.apparmor_restricts_unprivileged.value_or(0) != 0) {
        return "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or give belljar an "
               "AppArmor profile with `userns,`";
    }
    return "";
}

std::string fix_of_container(const HostFacts& facts) {
    const bool masked = facts.unprivileged.mount.worked() && !facts.unprivileged.proc.worked();
    return masked ? "start the container with --security-opt systempaths=unconfined"
                  : "give the container a seccomp profile that allows unshare, clone3 and mount";
}

LaunchMode judge_nested(const HostFacts& facts) {
    LaunchMode mode{.name = "nested"};
    const auto abi = static_cast<std::uint32_t>(facts.landlock.abi);
    const bool is_root = facts.privileges.effective_user == 0;
    if (abi == 0) {
        mode.obstacle = "no Landlock";
        mode.fix = "see \"landlock\"";
    } else if (!jar::is_fence(abi, jar::Mode::Nested, is_root)) {
        mode.obstacle =
            is_root ? fmt::format("Landlock {} does not keep files from being cut off", abi)
                    : fmt::format("Landlock {} keeps no signals from the server's processes", abi);
        mode.fix =
            is_root ? "use Linux 6.2 or later" : "start it as root, or use Linux 6.12 or later";
    } else if (!facts.seccomp.filter.worked()) {
        mode.obstacle = "no seccomp filters";
        mode.fix = "see \"seccomp\"";
    }
    return mode;
}

}  // namespace

LaunchMode judge_rootless(const HostFacts& facts) {
    const host::UnprivilegedTrial& trial = facts.unprivileged;
    LaunchMode mode{.name = "rootless"};
    if (!trial.user_namespace.worked()) {
        mode.obstacle = fmt::format("a user namespace without privileges is refused ({})",
                                    describe(trial.user_namespace));
    } else if (!trial.mount.worked()) {
        mode.obstacle = fmt::format("a user namespace without privileges cannot mount ({})",
                                    describe(trial.mount));
    } else if (!trial.proc.worked()) {
        mode.obstacle = fmt::format("a user namespace without privileges gets no /proc ({})",
                                    describe(trial.proc));
    } else {
        return mode;
    }
    mode.fix = fix_of_setting(facts);
    if (mode.fix.empty()) {
        mode.fix = facts.container.empty() ? "use a kernel with CONFIG_USER_NS=y, or start as root"
                                           : fix_of_container(facts);
    }
    return mode;
}

std::vector<LaunchMode> launch_modes(const HostFacts& facts) {
    return {judge_root(facts), judge_rootless(facts), judge_nested(facts)};
}

std::string chosen_mode(const std::vector<LaunchMode>& modes) {
    for (const LaunchMode& mode : modes) {
        if (mode.obstacle.empty()) {
            return mode.name;
        }
    }
    return "none";
}

CheckGroup check_modes(const std::vector<LaunchMode>& modes) {
    const std::string chosen = chosen_mode(modes);
    CheckGroup group{.name = "Modes"};
    for (const LaunchMode& mode : modes) {
        Check check{.name = mode.name + " mode", .health = Health::Info, .fix = mode.fix};
        if (mode.name == chosen) {
            check.health = Health::Good;
            check.found = "the one to be used: the strongest that is possible here";
        } else if (mode.obstacle.empty()) {
            check.found = fmt::format("possible, but {} mode is stronger", chosen);
        } else {
            check.health = chosen == "none" ? Health::Bad : Health::Info;
            check.found = "not possible: " + mode.obstacle;
        }
        group.checks.push_back(std::move(check));
    }
    return group;
}

}  // namespace belljar::apps
