// The privileged half of Belljar. Started by the server with their socket as descriptor 3 and the
// wanted launch mode as argument, it is two processes: the keeper only waits, and the warden does
// the work. Whatever happens to the warden, the keeper removes what is left, and the other way
// round.

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/log.h"
#include "isolation/cgroup.h"
#include "isolation/launch_mode.h"
#include "isolation/warden.h"
#include "jar/process_tree.h"
#include "jar/seqpacket.h"

namespace {

using belljar::jar::Mode;

constexpr int kServerSocket = 3;
constexpr int kFailed = 1;
constexpr const char* kWardenName = "belljar-warden";
constexpr const char* kKeeperName = "belljar-keeper";

std::string init_beside_us() {
    std::array<char, 4096> path{};
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    const std::string self(path.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    return self.substr(0, self.rfind('/') + 1) + "belljar-init";
}

// What the keeper found out, as the warden's arguments: mode, first user id, number of user ids.
belljar::isolation::Host host_from(char** arguments) {
    belljar::isolation::Host host;
    for (const auto mode : {Mode::Root, Mode::Rootless, Mode::Nested}) {
        host.mode = belljar::jar::name_of(mode) == arguments[1] ? mode : host.mode;
    }
    host.first_user = static_cast<uid_t>(std::strtoul(arguments[2], nullptr, 10));
    host.user_count = static_cast<uid_t>(std::strtoul(arguments[3], nullptr, 10));
    host.init = init_beside_us();
    return host;
}

// The socket was inherited on purpose; nothing cloned from here on may inherit it again.
int run_warden(const belljar::isolation::Host& host, const belljar::Log& log) {
    ::prctl(PR_SET_NAME, kWardenName, 0UL, 0UL, 0UL);
    ::fcntl(kServerSocket, F_SETFD, FD_CLOEXEC);
    auto warden = belljar::isolation::Warden::create(belljar::Fd(kServerSocket), host, log);
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

struct Options {
    std::string mode = "auto";
    std::string log_level = "info";
};

[[noreturn]] void become_warden(Mode mode, pid_t keeper, const belljar::Fd& socket,
                                const Options& options, const belljar::Log& log) {
    belljar::Result<belljar::isolation::Host> host = belljar::isolation::Host{};
    if (mode == Mode::Rootless) {
        host = belljar::isolation::enter_own_namespaces(socket);
    } else if (mode == Mode::Nested) {
        host = belljar::isolation::nested_host();
    }
    if (!host) {
        log.error("the warden has no namespaces", {{"reason", host.error().describe()}});
        ::_exit(kFailed);
    }
    // Not before: a new user namespace forgets it.
    if (::prctl(PR_SET_PDEATHSIG, belljar::isolation::kKeeperGone, 0UL, 0UL, 0UL) != 0 ||
        ::getppid() != keeper) {
        ::_exit(kFailed);
    }
    std::string name(kWardenName);
    std::string chosen(belljar::jar::name_of(mode));
    std::string first = std::to_string(host->first_user);
    std::string count = std::to_string(host->user_count);
    std::string level = options.log_level;
    char* const arguments[] = {name.data(),  chosen.data(), first.data(),
                               count.data(), level.data(),  nullptr};
    char* const environment[] = {nullptr};
    ::execve("/proc/self/exe", arguments, environment);
    ::_exit(kFailed);
}

// Until the warden has ended, and then everything that it leaves: its jars die with it, but where
// they have no pid namespace, not what the guests in them started. Returns the warden's status.
int wait_for(pid_t warden, const belljar::Log& log) {
    int result = 0;
    for (pid_t ended = 0; ended != warden;) {
        int status = 0;
        ended = ::waitpid(-1, &status, __WALL);
        result = ended == warden ? status : result;
        if (ended < 0 && errno != EINTR) {
            return kFailed;
        }
    }
    if (const auto ended = belljar::jar::end_descendants({}); !ended) {
        log.error("processes are left", {{"reason", ended.error().describe()}});
    }
    return WIFEXITED(result) ? WEXITSTATUS(result) : kFailed;
}

int keep(const Options& options, const belljar::Log& log) {
    ::prctl(PR_SET_NAME, kKeeperName, 0UL, 0UL, 0UL);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
    const auto mode = belljar::isolation::choose_mode(options.mode);
    auto sockets = belljar::jar::make_seqpacket_pair();
    if (!mode || !sockets) {
        log.error("no way to make jars",
                  {{"mode", options.mode},
                   {"reason", (mode ? sockets.error() : mode.error()).describe()}});
        return kFailed;
    }
    const pid_t keeper = ::getpid();
    const pid_t warden = ::fork();
    if (warden < 0) {
        log.error("the warden could not be forked", {{"reason", strerrordesc_np(errno)}});
        return kFailed;
    }
    if (warden == 0) {
        sockets->first.reset();
        become_warden(*mode, keeper, sockets->second, options, log);
    }
    ::close(kServerSocket);
    sockets->second.reset();
    if (*mode == Mode::Rootless) {
        if (const auto given = belljar::isolation::give_ids(warden, sockets->first); !given) {
            log.error("the warden got no user ids", {{"reason", given.error().describe()}});
            sockets->first.reset();
        }
    }
    const int status = wait_for(warden, log);
    belljar::isolation::remove_stale_cgroup_trees();
    return status;
}

}  // namespace

int main(int argument_count, char** arguments) {
    const bool is_warden = argument_count == 5 && std::strcmp(arguments[0], kWardenName) == 0;
    Options options;
    if (!is_warden && argument_count == 3) {
        options = {.mode = arguments[1], .log_level = arguments[2]};
    }
    const belljar::Log log("warden",
                           belljar::parse_log_level(is_warden ? arguments[4] : options.log_level)
                               .value_or(belljar::LogLevel::Info));
    // The terminal's Ctrl-C and a service manager's SIGTERM are for the server, which then closes
    // the socket.
    ::setsid();
    ::signal(SIGTERM, SIG_IGN);
    ::syscall(SYS_close_range, kServerSocket + 1, ~0U, 0);
    return is_warden ? run_warden(host_from(arguments), log) : keep(options, log);
}
