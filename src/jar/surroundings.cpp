#include "jar/surroundings.h"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "base/fd.h"

namespace belljar::jar {
namespace {

// Linux 6.3; the header of Debian 12 does not have them.
constexpr int kPrSetMdwe = 65;
constexpr int kPrGetMdwe = 66;

struct Rlimit {
    __rlimit_resource resource;
    const char* name;
    rlim_t value;
};

Result<void> set_rlimit(const Rlimit& limit) {
    const rlimit wanted{.rlim_cur = limit.value, .rlim_max = limit.value};
    if (::setrlimit(limit.resource, &wanted) == 0) {
        return {};
    }
    // A hard limit that is lower already stays: raising one takes CAP_SYS_RESOURCE.
    rlimit present{};
    if (errno != EPERM || ::getrlimit(limit.resource, &present) != 0 ||
        present.rlim_max > limit.value) {
        return fail(system_error(limit.name));
    }
    const rlimit kept{.rlim_cur = present.rlim_max, .rlim_max = present.rlim_max};
    if (::setrlimit(limit.resource, &kept) != 0) {
        return fail(system_error(limit.name));
    }
    return {};
}

}  // namespace

Result<void> set_hostname() {
    constexpr std::string_view kName = "jar";
    if (::sethostname(kName.data(), kName.size()) != 0) {
        return fail(system_error("sethostname"));
    }
    return {};
}

Result<void> raise_loopback() {
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket.valid()) {
        return fail(system_error("socket"));
    }
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP;
    if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) {
        return fail(system_error("SIOCSIFFLAGS"));
    }
    return {};
}

Result<void> set_rlimits(const Spec& spec) {
    const rlim_t allowed = spec.message.processes;
    // Where a cgroup counts, this must never be reached first: only the cgroup tells how often its
    // limit was reached. It counts a new process at the end of a fork and the rlimit at the start,
    // so every process there may have one more on the way.
    const rlim_t on_the_way = spec.message.processes_by_user == 1 ? 0 : allowed;
    // The kernel counts by user id and user namespace: where neither is the jar's own, processes of
    // others count as well.
    constexpr rlim_t kOthers = 1024;
    const bool shared = spec.message.own_user == 0 && spec.message.mode == Mode::Nested;
    const rlim_t processes = allowed + (shared ? kOthers : on_the_way);
    // A core limit of 0 still lets a piped core_pattern run a program on the host; 1 does not.
    std::vector<Rlimit> values{{RLIMIT_CORE, "RLIMIT_CORE", 1},
                               {RLIMIT_NOFILE, "RLIMIT_NOFILE", 4096},
                               {RLIMIT_NPROC, "RLIMIT_NPROC", processes},
                               {RLIMIT_FSIZE, "RLIMIT_FSIZE", spec.message.workspace_bytes},
                               {RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK", 0},
                               {RLIMIT_MSGQUEUE, "RLIMIT_MSGQUEUE", 0},
                               {RLIMIT_SIGPENDING, "RLIMIT_SIGPENDING", 1024},
                               {RLIMIT_NICE, "RLIMIT_NICE", 0},
                               {RLIMIT_RTPRIO, "RLIMIT_RTPRIO", 0}};
    if (spec.message.memory_by_process == 1) {
        // No cgroup counts the jar's memory: at least each process is limited.
        values.push_back({RLIMIT_DATA, "RLIMIT_DATA", spec.message.memory_bytes});
    }
    for (const Rlimit& limit : values) {
        BJ_TRY_VOID(set_rlimit(limit));
    }
    return {};
}

Result<void> yield_processor(const Spec& spec) {
    constexpr int kLast = 19;
    if (spec.message.processor_by_nice == 1 && ::setpriority(PRIO_PROCESS, 0, kLast) != 0) {
        return fail(system_error("setpriority"));
    }
    return {};
}

Result<void> make_session_keyring(Mode mode) {
    if (::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) >= 0 || errno == ENOSYS) {
        return {};
    }
    // A container's own filter refuses the call, to the guest as well.
    if (mode == Mode::Nested && errno == EPERM) {
        return {};
    }
    return fail(system_error("KEYCTL_JOIN_SESSION_KEYRING"));
}

Result<Fd> open_namespace_limits() {
    Fd limits(::open("/proc/sys/user", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!limits.valid()) {
        return fail(system_error("open the limits on namespaces"));
    }
    return limits;
}

Result<void> forbid_namespaces(const Fd& limits) {
    // The kernel looks at who opens the file: a limit set here is that of the new user namespace.
    // All others need a right that nobody here has or could get but in a user namespace. Each file
    // costs more the more jars there are: the kernel looks for it among those of all of them.
    const Fd file(::openat(limits.get(), "max_user_namespaces", O_WRONLY | O_CLOEXEC));
    if (!file.valid()) {
        return fail(system_error("open max_user_namespaces"));
    }
    return write_all(file, "0");
}

Result<void> deny_write_execute() {
    constexpr unsigned long kRefuseGain = 1;
    if (::prctl(kPrSetMdwe, kRefuseGain, 0UL, 0UL, 0UL) != 0) {
        return fail(system_error("PR_SET_MDWE"));
    }
    return {};
}

bool has_write_execute_denial() { return ::prctl(kPrGetMdwe, 0UL, 0UL, 0UL, 0UL) >= 0; }

}  // namespace belljar::jar
