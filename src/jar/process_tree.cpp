#include "jar/process_tree.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/fd.h"

namespace belljar::jar {
namespace {

constexpr auto kPatience = std::chrono::seconds(5);
constexpr auto kTimeToEndItself = std::chrono::milliseconds(500);

using Processes = std::vector<pid_t>;

std::string directory_of(pid_t process) { return "/proc/" + std::to_string(process); }

// Of one thread.
Result<Processes> read_children(const std::string& thread) {
    BJ_TRY(const std::string text, read_file(thread + "/children", mebibytes(4)));
    Processes found;
    const char* end = text.data() + text.size();
    pid_t child = 0;
    for (auto next = std::from_chars(text.data(), end, child); next.ec == std::errc{};
         next = std::from_chars(next.ptr + 1, end, child)) {
        found.push_back(child);
    }
    return found;
}

// Of all threads of another process, as far as it can be seen and still lives.
Processes children_of(pid_t process) {
    const std::string threads = directory_of(process) + "/task/";
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(threads.c_str()), ::closedir);
    Processes found;
    while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
        const Processes more = read_children(threads + entry->d_name).value_or(Processes{});
        found.insert(found.end(), more.begin(), more.end());
    }
    return found;
}

// pid (name) state parent ...; the name may hold anything.
pid_t parent_of(pid_t process) {
    const std::string text = read_file(directory_of(process) + "/stat", kibibytes(4)).value_or("");
    const std::size_t name_end = text.rfind(')');
    pid_t parent = 0;
    if (name_end != std::string::npos && text.size() > name_end + 4) {
        std::from_chars(text.data() + name_end + 4, text.data() + text.size(), parent);
    }
    return parent;
}

// Who was listed as a child may have ended since, and another have its number: the pidfd holds on
// to one process, and whose child it is tells which.
void end_grandchild(pid_t process, pid_t parent) {
    const Result<PidFd> held = PidFd::open(process);
    const pid_t present = parent_of(process);
    if (held && (present == parent || present == ::getpid())) {
        [[maybe_unused]] const Result<void> sent = held->signal(SIGKILL);
    }
}

// A child of ours that is not reaped keeps its number: nobody else can be hit. Whoever is told to
// die forks no more, so that its children are listed only then.
void end_with_descendants(pid_t child) {
    ::kill(child, SIGKILL);
    std::set<pid_t> seen{child};
    Processes open{child};
    while (!open.empty()) {
        const pid_t parent = open.back();
        open.pop_back();
        for (const pid_t process : children_of(parent)) {
            if (seen.insert(process).second) {
                end_grandchild(process, parent);
                open.push_back(process);
            }
        }
    }
}

std::string own_thread() {
    return directory_of(::getpid()) + "/task/" + std::to_string(::getpid());
}

// Of those there are now, whom the list does not name.
Result<Processes> unlisted_children(const std::vector<pid_t>& list) {
    BJ_TRY(Processes children, read_children(own_thread()));
    std::erase_if(children,
                  [&list](pid_t child) { return std::ranges::find(list, child) != list.end(); });
    return children;
}

bool has_ended(pid_t child) {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT | __WALL) ==
               0 &&
           info.si_pid == child;
}

// Whom to end, and how: everybody at once where that reaches no stranger, and those who can end
// their own only after they had the time for it.
struct Order {
    const std::vector<pid_t>& spared;
    Everybody everybody = Everybody::Anyone;
    TimePoint ask_until = TimePoint::min();
};

// Nobody is reaped while another may live: the dead count as processes too, so that whoever forks
// on and on comes to the limit of its user or its container.
Result<void> end_children(const Order& order) {
    const TimePoint give_up = Clock::now() + kPatience;
    std::set<pid_t> told;
    Processes dead;
    while (true) {
        BJ_TRY(const Processes children, unlisted_children(order.spared));
        if (children.empty()) {
            return {};
        }
        const TimePoint now = Clock::now();
        if (now > give_up) {
            return fail(system_error("end every process", ETIMEDOUT));
        }
        if (order.everybody == Everybody::OneJar) {
            // At once: a process to which a deadly signal is on its way cannot fork.
            ::kill(-1, SIGKILL);
        }
        for (const pid_t child : children) {
            if (now < order.ask_until) {
                ::kill(child, SIGTERM);
            } else if (told.insert(child).second) {
                end_with_descendants(child);
            }
        }
        const bool all_ended = std::ranges::all_of(children, has_ended);
        if (all_ended && children == dead) {
            // All were dead before, and nobody has come to us since.
            for (const pid_t child : children) {
                ::waitpid(child, nullptr, WNOHANG | __WALL);
                told.erase(child);
            }
        }
        dead = all_ended ? children : Processes{};
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

}  // namespace

Result<void> end_jar(Everybody everybody) {
    return end_children({.spared = {}, .everybody = everybody});
}

Result<void> end_descendants(const std::vector<pid_t>& spared) {
    return end_children({.spared = spared, .ask_until = Clock::now() + kTimeToEndItself});
}

Result<void> end_and_reap_descendants() {
    const TimePoint give_up = Clock::now() + kPatience;
    while (true) {
        BJ_TRY(const Processes children, read_children(own_thread()));
        if (children.empty()) {
            return {};
        }
        if (Clock::now() > give_up) {
            return fail(system_error("end every process", ETIMEDOUT));
        }
        for (const pid_t child : children) {
            ::kill(child, SIGKILL);
            ::waitpid(child, nullptr, WNOHANG | __WALL);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

Result<void> reap_unknown(const std::vector<pid_t>& known) {
    BJ_TRY(const Processes children, unlisted_children(known));
    for (const pid_t child : children) {
        ::waitpid(child, nullptr, WNOHANG | __WALL);
    }
    return {};
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
