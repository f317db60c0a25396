#include "isolation/contain.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "isolation/identity.h"
#include "isolation/jar_init.h"
#include "isolation/jar_reports.h"
#include "isolation/root_tree.h"
#include "isolation/surroundings.h"

namespace belljar::isolation {
namespace {

// Runs steps and ends the jar at the first that fails.
class Steps {
   public:
    explicit Steps(const Fd& warden) : warden_(warden) {}

    void run(Step step, const Result<void>& result) const {
        if (!result) {
            fail_step(step, result.error());
        }
    }

    template <typename T>
    T value(Step step, Result<T> result) const {
        if (!result) {
            fail_step(step, result.error());
        }
        return std::move(*result);
    }

   private:
    [[noreturn]] void fail_step(Step step, const Error& error) const {
        const JarReport report{
            .event = JarEvent::StepFailed, .step = step, .value = error.sys_errno};
        // If the warden is gone too, ending is all that is left to do.
        [[maybe_unused]] const Result<void> sent = send_report(warden_, report);
        ::_exit(125);
    }

    const Fd& warden_;
};

// The parent's death ends pid 1, and the kernel then ends everything else in the jar. Cleared by a
// change of user id, so it is asked for again afterwards.
Result<void> die_with_warden(const Fd& warden) {
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0UL, 0UL, 0UL) != 0) {
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

Result<void> join_cgroup(const JarCgroup& cgroup) {
    for (const Fd& tasks : cgroup.tasks_files()) {
        if (::write(tasks.get(), "0", 1) != 1) {
            return fail(system_error("write tasks"));
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

// The warden writes the id maps from outside and answers with one packet.
Result<void> await_identity(const Fd& warden, const Fd& workspace) {
    const int workspace_number = workspace.get();
    BJ_TRY_VOID(send_report(warden, {.event = JarEvent::AwaitsIdentity, .step = {}, .value = 0},
                            std::span(&workspace_number, 1)));
    BJ_TRY(const Packet answer, receive_packet(warden));
    if (answer.data.empty()) {
        return fail(system_error("the warden is gone", ESRCH));
    }
    return {};
}

void build_tree(const Steps& steps, const JarSpec& spec, Fd& workspace) {
    steps.run(Step::PrivateMounts, make_mounts_private());
    const Fd root = steps.value(Step::MakeRoot, make_root());
    steps.run(Step::MountSystem, mount_system(root));
    steps.run(Step::MountProc, mount_proc(root));
    steps.run(Step::MountDev, mount_dev(root, spec));
    steps.run(Step::MountTmp, mount_tmp(root, spec));
    workspace = steps.value(Step::MountWorkspace, mount_workspace(root, spec));
    steps.run(Step::WriteEtc, write_etc(root));
    steps.run(Step::SealRoot, seal_root(root));
    steps.run(Step::PivotRoot, pivot_into(root));
}

}  // namespace

void contain(const JarSpec& spec, const JarCgroup& cgroup, const Fd& warden) {
    const Steps steps(warden);
    Fd workspace;
    ::prctl(PR_SET_NAME, "belljar-jar", 0UL, 0UL, 0UL);  // for whoever looks at the host's ps
    steps.run(Step::DieWithWarden, die_with_warden(warden));
    steps.run(Step::NewSession, start_session());
    steps.run(Step::JoinCgroup, join_cgroup(cgroup));
    steps.run(Step::HideCgroupPath, hide_cgroup_path());
    build_tree(steps, spec, workspace);
    steps.run(Step::SetHostname, set_hostname());
    steps.run(Step::RaiseLoopback, raise_loopback());
    steps.run(Step::SetRlimits, set_rlimits(spec.limits));
    steps.run(Step::NewKeyring, make_session_keyring());
    steps.run(Step::DropGroups, drop_groups());
    steps.run(Step::NewUserNamespace, enter_user_namespace());
    steps.run(Step::MapIdentity, await_identity(warden, workspace));
    workspace.reset();
    steps.run(Step::TakeIdentity, take_identity());
    steps.run(Step::DropCapabilities, drop_capabilities());
    steps.run(Step::NoNewPrivileges, forbid_new_privileges());
    steps.run(Step::DieWithWarden, die_with_warden(warden));
    become_init(spec, warden);
}

}  // namespace belljar::isolation
