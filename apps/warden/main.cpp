// The process that makes jars. Started by the keeper with the server's socket as descriptor 3, the
// keeper's as 4, and the log level and the keeper's pid as arguments.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "base/log.h"
#include "isolation/warden.h"

namespace {

constexpr int kFailed = 1;
constexpr int kPatience = 10'000;  // milliseconds

// The keeper holds its end of their socket as long as it lives.
bool is_gone(const belljar::Fd& keeper) {
    pollfd entry{.fd = keeper.get(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, 0) == 1 && (entry.revents & POLLHUP) != 0;
}

// The keeper would remove what is left. If it has died, this process becomes one that does.
int leave(int code, const belljar::Fd& keeper, pid_t keeper_pid) {
    if (!is_gone(keeper)) {
        return code;
    }
    // It lets go of its cgroups before it is no longer our parent.
    for (int count = 0; ::getppid() == keeper_pid && count < kPatience; ++count) {
        ::usleep(1000);
    }
    std::array<char, 4096> path{};
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    const std::string self(path.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    const std::string program = self.substr(0, self.rfind('/') + 1) + "belljar-keeper";
    char name[] = "belljar-keeper";
    char order[] = "clean";
    char* const arguments[] = {name, order, nullptr};
    char* const environment[] = {nullptr};
    ::execve(program.c_str(), arguments, environment);
    return kFailed;
}

int run_warden(const belljar::Fd& keeper, const belljar::Log& log) {
    namespace isolation = belljar::isolation;
    // Both were inherited on purpose; nothing cloned from here on may inherit them again.
    ::fcntl(isolation::kServerSocket, F_SETFD, FD_CLOEXEC);
    ::fcntl(isolation::kKeeperSocket, F_SETFD, FD_CLOEXEC);
    auto warden = isolation::Warden::create(belljar::Fd(isolation::kServerSocket), keeper, log);
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

}  // namespace

int main(int argument_count, char** arguments) {
    if (argument_count != 3) {
        return kFailed;
    }
    ::signal(SIGTERM, SIG_IGN);
    ::syscall(SYS_close_range, belljar::isolation::kKeeperSocket + 1, ~0U, 0);
    const belljar::Log log(
        "warden", belljar::parse_log_level(arguments[1]).value_or(belljar::LogLevel::Info));
    const belljar::Fd keeper(belljar::isolation::kKeeperSocket);
    const int code = run_warden(keeper, log);
    return leave(code, keeper, std::atoi(arguments[2]));
}
