#include "jar/process_tree.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <functional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/fd.h"

namespace belljar::jar {
namespace {

constexpr auto kPatience = std::chrono::seconds(5);
constexpr auto kTimeToEndItself = std::chrono::milliseconds(500);

Result<std::vector<pid_t>> children() {
    const std::string self = std::to_string(::getpid());
    BJ_TRY(const std::string text,
           read_file("/proc/self/task/" + self + "/children", mebibytes(4)));
    std::vector<pid_t> found;
    const char* position = text.data();
    const char* end = position + text.size();
    pid_t child = 0;
    for (auto next = std::from_chars(position, end, child); next.ec == std::errc{};
         next = std::from_chars(next.ptr + 1, end, child)) {
        found.push_back(child);
    }
    return found;
}

Result<void> end_children(const std::vector<pid_t>& spared, const std::function<int()>& signal) {
    const TimePoint give_up = Clock::now() + kPatience;
    while (true) {
        BJ_TRY(std::vector<pid_t> found, children());
        std::erase_if(found, [&spared](pid_t child) {
            return std::ranges::find(spared, child) != spared.end();
        });
        if (found.empty()) {
            return {};
        }
        if (Clock::now() > give_up) {
            return fail(system_error("end every process", ETIMEDOUT));
        }
        // A child of ours that is not reaped keeps its number: nobody else can be hit.
        const int number = signal();
        for (const pid_t child : found) {
            ::kill(child, number);
        }
        for (const pid_t child : found) {
            ::waitpid(child, nullptr, WNOHANG | __WALL);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

}  // namespace

Result<void> end_jar(Everybody everybody) {
    return end_children({}, [everybody] {
        if (everybody == Everybody::OneJar) {
            // At once: a process to which a deadly signal is on its way cannot fork.
            ::kill(-1, SIGKILL);
        }
        return SIGKILL;
    });
}

Result<void> end_descendants(const std::vector<pid_t>& spared) {
    const TimePoint ask_until = Clock::now() + kTimeToEndItself;
    return end_children(spared,
                        [ask_until] { return Clock::now() < ask_until ? SIGTERM : SIGKILL; });
}

Result<void> end_processes_of(uid_t user) {
    if (user == 0) {
        return fail(ErrorCode::InvalidArgument, "no jar has the id of root");
    }
    const pid_t child = ::fork();
    if (child < 0) {
        return fail(system_error("fork"));
    }
    if (child == 0) {
        const bool became = ::setresgid(user, user, user) == 0 &&
                            ::setresuid(user, user, user) == 0 && ::geteuid() == user;
        ::_exit(became && (::kill(-1, SIGKILL) == 0 || errno == ESRCH) ? 0 : 1);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return fail(system_error("waitpid"));
        }
    }
    // Somebody of that user may have ended it before it came to it; who asks, asks again.
    return status == 0 ? Result<void>{} : fail(system_error("end the processes of a user", EPERM));
}

}  // namespace belljar::jar
