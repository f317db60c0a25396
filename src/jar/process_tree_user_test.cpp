#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>

#include "base/fd.h"
#include "jar/landlock.h"
#include "jar/process_tree.h"

namespace belljar::jar {
namespace {

// An id that no account has, and how many processes it may have: a bomb stays a small one.
constexpr uid_t kUser = 1'900'200'000;
constexpr rlim_t kMostProcesses = 64;
constexpr auto kTimeToGrow = 100'000;  // microseconds

enum Verdict : int { kFine, kNoSurroundings, kNotEnded, kStrangerEnded, kStrangerReached };

// Runs `body` as pid 1 of a pid namespace, so that a signal to everybody stays in it whatever the
// code under test does, and so that nothing is left afterwards.
int run_apart(const std::function<Verdict()>& body) {
    const pid_t outer = ::fork();
    if (outer == 0) {
        if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) {
            ::_exit(kNoSurroundings);
        }
        const pid_t inner = ::fork();
        if (inner == 0) {
            const bool ready = ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0UL, 0UL, 0UL) == 0 &&
                               ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                               ::mount("proc", "/proc", "proc", 0, nullptr) == 0;
            ::_exit(ready ? body() : kNoSurroundings);
        }
        int status = 0;
        ::waitpid(inner, &status, 0);
        ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : kNoSurroundings);
    }
    int status = 0;
    ::waitpid(outer, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : kNoSurroundings;
}

bool become_ordinary_user() {
    const rlimit processes{.rlim_cur = kMostProcesses, .rlim_max = kMostProcesses};
    return ::setrlimit(RLIMIT_NPROC, &processes) == 0 && ::setresgid(kUser, kUser, kUser) == 0 &&
           ::setresuid(kUser, kUser, kUser) == 0 &&
           ::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0;
}

pid_t start_stranger() {
    const pid_t stranger = ::fork();
    if (stranger == 0) {
        ::_exit(become_ordinary_user() ? ::pause() : 1);
    }
    return stranger;
}

[[noreturn]] void fork_for_ever() {
    while (true) {
        ::fork();
    }
}

// In the place of a jar's init: starts what cannot be ended one by one, and ends it.
Verdict hold_a_bomb(pid_t stranger) {
    if (!become_ordinary_user() || ::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL) != 0) {
        return kNoSurroundings;
    }
    const Result<Everybody> everybody = confine_signals(find_landlock_abi());
    if (!everybody || *everybody != Everybody::OneJar) {
        return kNoSurroundings;
    }
    if (::kill(stranger, 0) == 0 || errno != EPERM) {
        return kStrangerReached;
    }
    if (::fork() == 0) {
        fork_for_ever();
    }
    ::usleep(kTimeToGrow);
    return end_jar(*everybody) ? kFine : kNotEnded;
}

bool is_alive(pid_t child) { return ::waitpid(child, nullptr, WNOHANG) == 0; }

Verdict exit_of(pid_t child) {
    int status = 0;
    if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
        return kNoSurroundings;
    }
    return static_cast<Verdict>(WEXITSTATUS(status));
}

TEST(JarProcesses, EndsAForkBombAndNobodyElse) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can make a pid namespace to do this in";
    }
    if (find_landlock_abi() < 6) {
        GTEST_SKIP() << "this kernel's Landlock does not know signals";
    }
    EXPECT_EQ(run_apart([] {
                  const pid_t stranger = start_stranger();
                  const pid_t init = ::fork();
                  if (init == 0) {
                      ::_exit(hold_a_bomb(stranger));
                  }
                  const Verdict verdict = exit_of(init);
                  return verdict == kFine && !is_alive(stranger) ? kStrangerEnded : verdict;
              }),
              kFine);
}

TEST(JarProcesses, EndsEverythingOfAUser) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    EXPECT_EQ(run_apart([] {
                  const pid_t stranger = ::fork();
                  if (stranger == 0) {
                      ::_exit(::pause());
                  }
                  const pid_t bomb = ::fork();
                  if (bomb == 0) {
                      ::_exit(become_ordinary_user() ? (fork_for_ever(), 1) : 1);
                  }
                  ::usleep(kTimeToGrow);
                  // Again, because somebody of that user could end the one that does it.
                  const bool asked = end_processes_of(kUser) && end_processes_of(kUser);
                  const bool ended = asked && end_descendants({stranger});
                  return !ended ? kNotEnded : is_alive(stranger) ? kFine : kStrangerEnded;
              }),
              kFine);
}

TEST(JarProcesses, NeverTakesTheIdOfRoot) {
    EXPECT_EQ(run_apart([] {
                  const pid_t child = ::fork();
                  if (child == 0) {
                      ::_exit(::pause());
                  }
                  const bool refused = !end_processes_of(0);
                  return refused && is_alive(child) ? kFine : kStrangerEnded;
              }),
              ::geteuid() == 0 ? kFine : kNoSurroundings);
}

TEST(JarProcesses, ACallerWithoutChildrenIsDone) {
    EXPECT_TRUE(end_descendants({}).has_value());
    EXPECT_TRUE(end_jar(Everybody::Anyone).has_value());
}

}  // namespace
}  // namespace belljar::jar
