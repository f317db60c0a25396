// The privileged half of Belljar. Started by the server with their socket as descriptor 3, it is
// two processes: the keeper only waits, and the warden does the work. Whatever happens to the
// warden, the keeper removes the cgroups that are left, and the other way round.

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/log.h"
#include "isolation/cgroup.h"
#include "isolation/warden.h"

namespace {

constexpr int kServerSocket = 3;
constexpr int kFailed = 1;
constexpr const char* kWardenName = "belljar-warden";
constexpr const char* kKeeperName = "belljar-keeper";

// The socket was inherited on purpose; nothing cloned from here on may inherit it again.
int run_warden(const belljar::Log& log) {
    ::prctl(PR_SET_NAME, kWardenName, 0UL, 0UL, 0UL);
    ::fcntl(kServerSocket, F_SETFD, FD_CLOEXEC);
    auto warden = belljar::isolation::Warden::create(belljar::Fd(kServerSocket), log);
    if (!warden) {
        log.error("the warden could not start", {{"reason", warden.error().describe()}});
        return kFailed;
    }
    if (const auto ended = (*warden)->run(); !ended) {
        log.error("the warden had to stop", {{"reason", ended.error().describe()}});
        return kFailed;
    }
    return 0;
}

[[noreturn]] void become_warden(pid_t keeper) {
    if (::prctl(PR_SET_PDEATHSIG, belljar::isolation::kKeeperGone, 0UL, 0UL, 0UL) != 0 ||
        ::getppid() != keeper) {
        ::_exit(kFailed);
    }
    char* const arguments[] = {const_cast<char*>(kWardenName), nullptr};
    char* const environment[] = {nullptr};
    ::execve("/proc/self/exe", arguments, environment);
    ::_exit(kFailed);
}

// Until the warden and, if it died before them, its jars have ended. Returns the warden's status.
int wait_for(pid_t warden) {
    int result = 0;
    while (true) {
        int status = 0;
        const pid_t ended = ::waitpid(-1, &status, __WALL);
        if (ended == warden) {
            result = status;
        } else if (ended < 0 && errno != EINTR) {
            return result;
        }
    }
}

int keep(const belljar::Log& log) {
    ::prctl(PR_SET_NAME, kKeeperName, 0UL, 0UL, 0UL);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
    const pid_t keeper = ::getpid();
    const pid_t warden = ::fork();
    if (warden < 0) {
        log.error("the warden could not be forked", {{"reason", strerrordesc_np(errno)}});
        return kFailed;
    }
    if (warden == 0) {
        become_warden(keeper);
    }
    ::close(kServerSocket);
    const int status = wait_for(warden);
    belljar::isolation::remove_stale_cgroup_trees();
    return WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
}

}  // namespace

int main(int argument_count, char** arguments) {
    const belljar::Log log("warden", belljar::LogLevel::Info);
    // The terminal's Ctrl-C and a service manager's SIGTERM are for the server, which then closes
    // the socket.
    ::setsid();
    ::signal(SIGTERM, SIG_IGN);
    ::syscall(SYS_close_range, kServerSocket + 1, ~0U, 0);
    if (argument_count > 0 && std::strcmp(arguments[0], kWardenName) == 0) {
        return run_warden(log);
    }
    return keep(log);
}
