#include "host/namespaces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/fd.h"
#include "host/kernel_file.h"
#include "host/privileges.h"

namespace belljar::host {
namespace {

struct Kind {
    const char* name;
    int flag;
    const char* setting;
};

constexpr std::array<Kind, 7> kKinds{
    {{"mnt", CLONE_NEWNS, "/proc/sys/user/max_mnt_namespaces"},
     {"pid", CLONE_NEWPID, "/proc/sys/user/max_pid_namespaces"},
     {"net", CLONE_NEWNET, "/proc/sys/user/max_net_namespaces"},
     {"ipc", CLONE_NEWIPC, "/proc/sys/user/max_ipc_namespaces"},
     {"uts", CLONE_NEWUTS, "/proc/sys/user/max_uts_namespaces"},
     {"cgroup", CLONE_NEWCGROUP, "/proc/sys/user/max_cgroup_namespaces"},
     {"user", CLONE_NEWUSER, "/proc/sys/user/max_user_namespaces"}}};

constexpr uid_t kNobody = 65534;

int write_once(const char* path, const std::string& text) {
    const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
    if (!file.valid()) {
        return errno;
    }
    return errno_of(::write(file.get(), text.data(), text.size()));
}

// Where the id of nobody does not exist, or may not be taken, this changes nothing that matters.
void become_nobody() {
    ::setgroups(0, nullptr);
    if (::setresgid(kNobody, kNobody, kNobody) == 0 &&
        ::setresuid(kNobody, kNobody, kNobody) == 0) {
        // The change of user made the files below /proc/self root's; the id maps are among them.
        ::prctl(PR_SET_DUMPABLE, 1UL, 0UL, 0UL, 0UL);
    }
}

// Makes a user namespace in which this process is root, and the namespaces of `others`.
int enter_user_namespace(int others) {
    const uid_t user = ::geteuid();
    const gid_t group = ::getegid();
    if (::unshare(CLONE_NEWUSER) != 0) {
        return errno;
    }
    // Before Linux 3.19 there was no such file; a group cannot be mapped where it says "allow".
    if (const int refused = write_once("/proc/self/setgroups", "deny");
        refused != 0 && refused != ENOENT) {
        return refused;
    }
    if (const int refused = write_once("/proc/self/gid_map", fmt::format("0 {} 1\n", group));
        refused != 0) {
        return refused;
    }
    if (const int refused = write_once("/proc/self/uid_map", fmt::format("0 {} 1\n", user));
        refused != 0) {
        return refused;
    }
    return others == 0 ? 0 : errno_of(::unshare(others));
}

int hide_mounts_from_host() {
    return errno_of(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
}

// Over /proc, which every host has.
int mount_tmpfs() {
    if (const int refused = hide_mounts_from_host(); refused != 0) {
        return refused;
    }
    return errno_of(::mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k"));
}

int mount_overlay() {
    if (const int refused = mount_tmpfs(); refused != 0) {
        return refused;
    }
    for (const char* name : {"/proc/lower", "/proc/upper", "/proc/work", "/proc/merged"}) {
        if (::mkdir(name, 0755) != 0) {
            return errno;
        }
    }
    return errno_of(::mount("overlay", "/proc/merged", "overlay", MS_NOSUID | MS_NODEV,
                            "lowerdir=/proc/lower,upperdir=/proc/upper,workdir=/proc/work"));
}

// A new /proc shows a pid namespace, and only a process in it may mount one.
int mount_proc_in_child() {
    if (const int refused = hide_mounts_from_host(); refused != 0) {
        return refused;
    }
    const Attempt inner = attempt([] {
        return errno_of(
            ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr));
    });
    return inner.signal != 0 ? EINTR : inner.sys_errno;
}

Attempt try_in_user_namespace(int others, int (*trial)()) {
    return attempt([others, trial] {
        become_nobody();
        if (const int refused = enter_user_namespace(others); refused != 0) {
            return refused;
        }
        return trial == nullptr ? 0 : trial();
    });
}

Attempt try_namespace(const Kind& kind) {
    if (kind.flag == CLONE_NEWUSER || read_privileges().has(Capability::SysAdmin)) {
        return attempt([&kind] { return errno_of(::unshare(kind.flag)); });
    }
    return attempt([&kind] { return enter_user_namespace(kind.flag); });
}

}  // namespace

std::vector<NamespaceTrial> try_namespaces() {
    std::vector<NamespaceTrial> trials;
    for (const Kind& kind : kKinds) {
        trials.push_back({.name = kind.name, .made = try_namespace(kind)});
    }
    return trials;
}

UnprivilegedTrial try_unprivileged() {
    return {.user_namespace = try_in_user_namespace(0, nullptr),
            .mount = try_in_user_namespace(CLONE_NEWNS, mount_tmpfs),
            .proc = try_in_user_namespace(CLONE_NEWNS | CLONE_NEWPID, mount_proc_in_child),
            .overlay = try_in_user_namespace(CLONE_NEWNS, mount_overlay)};
}

NamespaceLimits read_namespace_limits() {
    NamespaceLimits limits{
        .user_namespaces = read_number("/proc/sys/user/max_user_namespaces"),
        .unprivileged_userns_clone = read_number("/proc/sys/kernel/unprivileged_userns_clone"),
        .apparmor_restricts_unprivileged =
            read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
        .apparmor = read_value("/sys/module/apparmor/parameters/enabled") == "Y"};
    for (const Kind& kind : kKinds) {
        const std::optional<std::int64_t> most = read_number(kind.setting);
        if (most && (!limits.smallest || *most < *limits.smallest)) {
            limits.smallest = most;
            limits.scarcest = kind.name;
        }
    }
    return limits;
}

Attempt try_overlay() {
    return attempt([] {
        if (::unshare(CLONE_NEWNS) != 0) {
            return errno;
        }
        return mount_overlay();
    });
}

}  // namespace belljar::host
