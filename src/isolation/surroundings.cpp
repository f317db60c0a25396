#include "isolation/surroundings.h"

#include <linux/keyctl.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/fd.h"

namespace belljar::isolation {
namespace {

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

Result<void> set_rlimits(const execution::Limits& limits) {
    // A little above the cgroup's limit, which counts how often it was reached and so can be told.
    const rlim_t processes = rlim_t{limits.processes} + 16;
    // A core limit of 0 still lets a piped core_pattern run a program on the host; 1 does not.
    const std::array<Rlimit, 8> values{{{RLIMIT_CORE, "RLIMIT_CORE", 1},
                                        {RLIMIT_NOFILE, "RLIMIT_NOFILE", 4096},
                                        {RLIMIT_NPROC, "RLIMIT_NPROC", processes},
                                        {RLIMIT_FSIZE, "RLIMIT_FSIZE", limits.workspace.count},
                                        {RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK", 0},
                                        {RLIMIT_MSGQUEUE, "RLIMIT_MSGQUEUE", 0},
                                        {RLIMIT_SIGPENDING, "RLIMIT_SIGPENDING", 1024},
                                        {RLIMIT_NICE, "RLIMIT_NICE", 0}}};
    for (const Rlimit& limit : values) {
        BJ_TRY_VOID(set_rlimit(limit));
    }
    return {};
}

Result<void> make_session_keyring() {
    if (::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 && errno != ENOSYS) {
        return fail(system_error("KEYCTL_JOIN_SESSION_KEYRING"));
    }
    return {};
}

}  // namespace belljar::isolation
