#include "host/attempt.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace belljar::host {
namespace {

constexpr unsigned kSeconds = 10;

[[noreturn]] void try_and_end(const std::function<int()>& trial) {
    // A trial may end in a signal on purpose. No handler of ours or of a sanitizer is to see it,
    // and a core limit of 1 keeps a piped core_pattern from being started (0 would not).
    for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGSYS, SIGALRM}) {
        ::signal(number, SIG_DFL);
    }
    const rlimit no_core{.rlim_cur = 1, .rlim_max = 1};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0UL, 0UL, 0UL);
    ::alarm(kSeconds);
    ::_exit(std::clamp(trial(), 0, 255));
}

}  // namespace

Attempt attempt(const std::function<int()>& trial) {
    const pid_t child = ::fork();
    if (child < 0) {
        return {.sys_errno = errno};
    }
    if (child == 0) {
        try_and_end(trial);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return {.sys_errno = errno};
        }
    }
    if (WIFSIGNALED(status)) {
        return {.signal = WTERMSIG(status)};
    }
    return {.sys_errno = WEXITSTATUS(status)};
}

int errno_of(long returned) { return returned < 0 ? errno : 0; }

}  // namespace belljar::host
