#include "jar/process_tree.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/fd.h"

namespace belljar::jar {
namespace {

constexpr auto kPatience = std::chrono::seconds(5);

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

}  // namespace

Result<void> end_descendants(const std::vector<pid_t>& spared) {
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
        for (const pid_t child : found) {
            ::kill(child, SIGKILL);
        }
        for (const pid_t child : found) {
            ::waitpid(child, nullptr, WNOHANG | __WALL);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

}  // namespace belljar::jar
