#include "host/seccomp.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace belljar::host {
namespace {

struct Action {
    const char* name;
    std::uint32_t value;
};

constexpr std::array<Action, 8> kActions{{{"kill_process", SECCOMP_RET_KILL_PROCESS},
                                          {"kill_thread", SECCOMP_RET_KILL_THREAD},
                                          {"trap", SECCOMP_RET_TRAP},
                                          {"errno", SECCOMP_RET_ERRNO},
                                          {"user_notif", SECCOMP_RET_USER_NOTIF},
                                          {"trace", SECCOMP_RET_TRACE},
                                          {"log", SECCOMP_RET_LOG},
                                          {"allow", SECCOMP_RET_ALLOW}}};

bool is_available(const Action& action) {
    std::uint32_t value = action.value;
    return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0U, &value) == 0;
}

// Without CAP_SYS_ADMIN a filter needs no_new_privs, which always can be had.
int install_filter() {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0) {
        return errno_of(-1);
    }
    sock_filter allow_everything{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = SECCOMP_RET_ALLOW};
    const sock_fprog program{.len = 1, .filter = &allow_everything};
    return errno_of(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0U, &program));
}

}  // namespace

bool Seccomp::has(std::string_view action) const {
    return std::ranges::find(actions, action) != actions.end();
}

Seccomp probe_seccomp() {
    Seccomp found{.filter = attempt(install_filter)};
    for (const Action& action : kActions) {
        if (is_available(action)) {
            found.actions.emplace_back(action.name);
        }
    }
    return found;
}

}  // namespace belljar::host
