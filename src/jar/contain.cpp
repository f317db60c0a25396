#include "jar/contain.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "jar/guest.h"
#include "jar/identity.h"
#include "jar/init.h"
#include "jar/reports.h"
#include "jar/root_tree.h"
#include "jar/spec.h"
#include "jar/step_runner.h"
#include "jar/surroundings.h"

namespace belljar::jar {
namespace {

// What the warden looks at when the jar is gone.
struct Places {
    Fd workspace;
    Fd tmp;
};

// The parent's death ends pid 1, and the kernel then ends everything else in the jar. Without a pid
// namespace init has to do that itself, and is only told. Cleared by a change of user id, so it is
// asked for again afterwards.
Result<void> die_with_warden(const Fd& warden, Mode mode) {
    const unsigned long signal = mode == Mode::Nested ? SIGTERM : SIGKILL;
    if (::prctl(PR_SET_PDEATHSIG, signal, 0UL, 0UL, 0UL) != 0) {
        return fail(system_error("PR_SET_PDEATHSIG"));
    }
    // The warden may have died before the request took effect; its end of the socket tells.
    pollfd peer{.fd = warden.get(), .events = POLLIN, .revents = 0};
    if (::poll(&peer, 1, 0) < 0 || (peer.revents & POLLHUP) != 0) {
        return fail(system_error("the warden is gone", ESRCH));
    }
    return {};
}

Result<void> start_session() {
    ::umask(022);
    if (::setsid() < 0) {
        return fail(system_error("setsid"));
    }
    return {};
}

// Who writes 0 moves itself, which in version 1 the kernel does without its global lock.
Result<void> join_cgroup(const Spec& spec) {
    for (const Fd& tasks : spec.cgroup_files) {
        if (::write(tasks.get(), "0", 1) != 1) {
            return fail(system_error("write the file of a cgroup"));
        }
    }
    return {};
}

// Now that the process is where it belongs, its own cgroup becomes the visible root.
Result<void> hide_cgroup_path() {
    if (::unshare(CLONE_NEWCGROUP) != 0) {
        return fail(system_error("unshare CLONE_NEWCGROUP"));
    }
    return {};
}

Result<void> show_places(const Fd& warden, const Places& places) {
    const std::array<int, 2> numbers{places.workspace.get(), places.tmp.get()};
    JarReport report{};
    report.event = JarEvent::TreeStands;
    return send_report(warden, report, numbers);
}

Places build_tree(const StepRunner& steps, Spec& spec, const Fd& warden) {
    Places places;
    steps.run(Step::PrivateMounts, make_mounts_private);
    const Fd root = steps.value(Step::MakeRoot, make_root);
    steps.run(Step::MountFiles, mount_files, root, spec);
    steps.run(Step::MountSystem, mount_system, root, spec);
    steps.run(Step::MountLogs, mount_logs, root, spec);
    steps.run(Step::MountProc, mount_proc, root, spec);
    steps.run(Step::ReceiveSpec, receive_mounts, warden, spec);
    steps.run(Step::MountDev, mount_dev, root, spec);
    places.tmp = steps.value(Step::MountTmp, mount_tmp, root, spec);
    places.workspace = steps.value(Step::MountWorkspace, mount_workspace, root, spec);
    steps.run(Step::SealRoot, seal_root, root);
    steps.run(Step::PivotRoot, pivot_into, root);
    return places;
}

// With namespaces. They were made by the nursery's clone3; the user namespace comes last, so that
// all others belong to the one around it.
void close_in(const StepRunner& steps, Spec& spec, const Fd& warden) {
    steps.run(Step::JoinCgroup, join_cgroup, spec);
    steps.run(Step::HideCgroupPath, hide_cgroup_path);
    const Fd namespace_limits = steps.value(Step::ForbidNamespaces, open_namespace_limits);
    const Fd own_process = steps.value(Step::MapIdentity, open_own_process);
    const Places places = build_tree(steps, spec, warden);
    steps.run(Step::ShowPlaces, show_places, warden, places);
    steps.run(Step::SetHostname, set_hostname);
    steps.run(Step::RaiseLoopback, raise_loopback);
    steps.run(Step::SetRlimits, set_rlimits, spec);
    steps.run(Step::SetRlimits, yield_processor, spec);
    if (spec.message.mode == Mode::Root || spec.message.own_user == 1) {
        steps.run(Step::DropGroups, drop_groups);  // an ordinary user may not change its groups
    }
    steps.run(Step::TakeOuterIdentity, take_outer_identity, spec);
    steps.run(Step::NewUserNamespace, enter_user_namespace);
    steps.run(Step::ForbidNamespaces, forbid_namespaces, namespace_limits);
    steps.run(Step::MapIdentity, map_identity, own_process, spec);
    steps.run(Step::TakeIdentity, take_identity);
    // As the jar's own user: the kernel counts keyrings by user, and allows 200.
    steps.run(Step::NewKeyring, make_session_keyring, spec.message.mode);
    steps.run(Step::DropCapabilities, drop_capabilities);
}

// An interpreter that forks guests: it sees what they see, with nothing in it that is theirs, and
// keeps the rights by which it brings them into their jars.
[[noreturn]] void become_zygote(const StepRunner& steps, Spec& spec, const Fd& warden) {
    const Fd own_process = steps.value(Step::PlaceDescriptors, open_own_process);
    build_tree(steps, spec, warden);
    steps.run(Step::SetHostname, set_hostname);
    steps.run(Step::NewKeyring, make_session_keyring, spec.message.mode);
    steps.run(Step::DropCapabilities, keep_zygote_capabilities);
    steps.run(Step::NoNewPrivileges, forbid_new_privileges);
    steps.run(Step::DieWithWarden, die_with_warden, warden, spec.message.mode);
    execute_zygote(spec, warden, own_process);
}

// Without namespaces: what is left are limits, the user id, and what the guest does to itself
// before it starts (guest.cpp).
void close_in_place(const StepRunner& steps, const Spec& spec) {
    steps.run(Step::JoinCgroup, join_cgroup, spec);
    steps.run(Step::SetRlimits, set_rlimits, spec);
    steps.run(Step::SetRlimits, yield_processor, spec);
    steps.run(Step::NewKeyring, make_session_keyring, spec.message.mode);
    steps.run(Step::TakeIdentity, take_host_identity, spec);
    steps.run(Step::DropCapabilities, drop_held_capabilities);
}

}  // namespace

void contain(const Fd& warden) {
    const StepRunner steps(warden);
    ::prctl(PR_SET_NAME, "belljar-jar", 0UL, 0UL, 0UL);  // for whoever looks at the host's ps
    steps.run(Step::DieWithWarden, die_with_warden, warden, Mode::Root);
    Spec spec = steps.value(Step::ReceiveSpec, receive_spec, warden);
    steps.run(Step::NewSession, start_session);
    if (spec.message.guest == GuestKind::Zygote) {
        become_zygote(steps, spec, warden);
    }
    if (spec.message.mode == Mode::Nested) {
        close_in_place(steps, spec);
    } else {
        close_in(steps, spec, warden);
    }
    steps.run(Step::NoNewPrivileges, forbid_new_privileges);
    steps.run(Step::DieWithWarden, die_with_warden, warden, spec.message.mode);
    become_init(std::move(spec), warden);
}

}  // namespace belljar::jar
