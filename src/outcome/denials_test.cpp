#include "outcome/denials.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "base/utf8.h"
#include "outcome/verdict.h"

namespace belljar::outcome {
namespace {

using execution::Denial;
using execution::DenialSource;
using execution::DeniedCall;
using execution::GuestError;
using execution::KillReason;
using execution::Limits;
using execution::RawExit;
using execution::RunResult;
using execution::Status;

RawExit exited_with(int code) { return {.exited = true, .wait_status = W_EXITCODE(code, 0)}; }

RawExit died_by(int signal) { return {.exited = true, .wait_status = W_EXITCODE(0, signal)}; }

std::vector<Denial> denials_of(const RawExit& exit, const Limits& limits = {}) {
    RunResult result;
    judge(exit, limits, result);
    return result.denials;
}

std::vector<Denial> told_by(GuestError error, const RawExit& exit = exited_with(1)) {
    RunResult result{.error = std::move(error)};
    judge(exit, Limits{}, result);
    return result.denials;
}

std::vector<std::string> rules_of(const std::vector<Denial>& denials) {
    std::vector<std::string> rules;
    for (const Denial& denial : denials) {
        rules.push_back(denial.rule);
    }
    return rules;
}

using Rules = std::vector<std::string>;

TEST(Denials, EveryReachedLimitIsExplained) {
    RawExit memory = exited_with(1);
    memory.out_of_memory_kills = 1;
    RawExit processes = exited_with(1);
    processes.process_limit_hits = 1;
    RawExit disk = exited_with(1);
    disk.disk_full = true;
    const std::vector<std::pair<RawExit, std::string>> reached{
        {{.kill_reason = KillReason::Deadline}, "limits.timeout"},
        {{.kill_reason = KillReason::Memory}, "limits.memory"},
        {memory, "limits.memory"},
        {processes, "limits.processes"},
        {disk, "limits.workspace"},
        {died_by(SIGXFSZ), "limits.workspace"},
        {{.kill_reason = KillReason::Output}, "limits.output_flood"}};
    for (const auto& [exit, rule] : reached) {
        const std::vector<Denial> denials = denials_of(exit);
        ASSERT_EQ(rules_of(denials), Rules{rule});
        EXPECT_FALSE(denials.front().what.empty());
        EXPECT_TRUE(denials.front().hint.ends_with('.'));
        EXPECT_EQ(denials.front().source, DenialSource::Limit);
    }
}

TEST(Denials, NameTheLimitThatWasReached) {
    Limits limits;
    limits.timeout = std::chrono::milliseconds(2500);
    limits.memory = mebibytes(64);
    EXPECT_EQ(denials_of({.kill_reason = KillReason::Deadline}, limits).front().what,
              "ran longer than 2.5 seconds");
    EXPECT_EQ(denials_of({.kill_reason = KillReason::Memory}, limits).front().what,
              "used more than 64m of memory");
}

TEST(Denials, ALimitThatWasCopedWithIsToldToo) {
    RawExit exit = exited_with(0);
    exit.process_limit_hits = 3;
    exit.disk_full = true;
    EXPECT_EQ(rules_of(denials_of(exit)), (Rules{"limits.processes", "limits.workspace"}));
}

TEST(Denials, TheOneThatExplainsTheStatusComesFirst) {
    RawExit exit{.kill_reason = KillReason::Output};
    exit.process_limit_hits = 1;
    exit.disk_full = true;
    EXPECT_EQ(rules_of(denials_of(exit)),
              (Rules{"limits.output_flood", "limits.processes", "limits.workspace"}));
}

TEST(Denials, ThereAreNoneWhereNothingWasRefused) {
    for (const RawExit& exit : {exited_with(0), exited_with(1), exited_with(124), exited_with(137),
                                died_by(SIGSEGV), died_by(SIGKILL), died_by(SIGXCPU),
                                RawExit{.kill_reason = KillReason::Cancelled}, RawExit{}}) {
        EXPECT_TRUE(denials_of(exit).empty());
    }
}

TEST(Denials, OfARunThatSigsysEnded) {
    const std::vector<Denial> denials = denials_of(died_by(SIGSYS));
    ASSERT_EQ(rules_of(denials), Rules{"seccomp.kill"});
    EXPECT_EQ(denials.front().source, DenialSource::Kernel);
}

TEST(Denials, LimitsThenTheKernelThenTheGuest) {
    RawExit exit{.kill_reason = KillReason::Deadline};
    exit.denied = {{.call = "mount", .sys_errno = EPERM}};
    const std::vector<Denial> denials =
        told_by({.type = "OSError", .sys_errno = EROFS, .path = "/usr/x"}, exit);
    EXPECT_EQ(rules_of(denials), (Rules{"limits.timeout", "seccomp.mount", "files.read_only"}));
    EXPECT_EQ(denials[0].source, DenialSource::Limit);
    EXPECT_EQ(denials[1].source, DenialSource::Kernel);
    EXPECT_EQ(denials[2].source, DenialSource::Guest);
}

TEST(Denials, AreAtMostSixteen) {
    RawExit exit{.kill_reason = KillReason::Deadline};
    exit.process_limit_hits = 1;
    exit.out_of_memory_kills = 1;
    exit.disk_full = true;
    for (const char* call :
         {"connect", "socket", "unshare", "mount", "ptrace", "keyctl", "bpf", "setuid", "mknod",
          "clock_settime", "splice", "vhangup", "prlimit64"}) {
        exit.denied.push_back({.call = call, .sys_errno = EPERM});
    }
    exit.denied.push_back({.call = "socket", .argument = 38});
    exit.denied.push_back({.call = "socket", .argument = 2});
    exit.denied.push_back({.call = "connect", .address = "127.0.0.1:53"});
    const std::vector<Denial> denials =
        told_by({.type = "OSError", .sys_errno = EROFS, .path = "/usr/x"}, exit);
    EXPECT_EQ(denials.size(), 16U);
    EXPECT_EQ(denials.front().rule, "limits.timeout");
}

struct Told {
    int sys_errno;
    std::string path;
    std::string what;
    std::string rule;
};

TEST(Denials, OfWhatTheGuestTells) {
    const std::vector<Told> cases{
        {EROFS, "/usr/x", "tried to write /usr/x", "files.read_only"},
        {EACCES, "/etc/shadow", "was refused /etc/shadow", "files.permission"},
        {EPERM, "/tmp/node", "was refused /tmp/node", "files.permission"},
        {ENOSPC, "/workspace/big", "found no space for /workspace/big", "limits.workspace"},
        {ENOSPC, "", "found no space left", "limits.workspace"},
        {EDQUOT, "/tmp/big", "found no space for /tmp/big", "limits.tmp"},
        {ENOSPC, "/dev/shm/big", "found no space for /dev/shm/big", "limits.tmp"},
        {ENOSPC, "/tmpfile", "found no space for /tmpfile", "limits.workspace"},
        {EFBIG, "", "tried to make a file larger than one may be", "limits.workspace"},
        {EMFILE, "/workspace/f", "had too many files open at once", "limits.open_files"},
        {ENOMEM, "", "asked for more memory than there is", "limits.memory"},
        {ENETUNREACH, "", "tried to reach the network", "network.off"},
        {-3, "", "tried to look up the name of a host", "network.off"}};
    for (const Told& one : cases) {
        const std::vector<Denial> denials =
            told_by({.type = "OSError", .sys_errno = one.sys_errno, .path = one.path});
        ASSERT_EQ(rules_of(denials), Rules{one.rule}) << one.what;
        EXPECT_EQ(denials.front().what, one.what);
        EXPECT_TRUE(denials.front().hint.ends_with('.')) << one.what;
        EXPECT_EQ(denials.front().source, DenialSource::Guest);
    }
    EXPECT_EQ(rules_of(told_by({.type = "MemoryError"})), Rules{"limits.memory"});
}

TEST(Denials, OtherErrorsOfTheGuestAreNone) {
    for (const int number : {0, ENOENT, EEXIST, EISDIR, EAGAIN, EINVAL, ECONNREFUSED, 4096}) {
        EXPECT_TRUE(told_by({.type = "OSError", .sys_errno = number, .path = "/x"}).empty());
    }
    EXPECT_TRUE(told_by({.type = "OSError", .sys_errno = EPERM}).empty());
    EXPECT_TRUE(told_by({.type = "ValueError", .path = "/usr/x"}).empty());
}

TEST(Denials, TheGuestDoesNotRepeatWhatIsKnown) {
    RawExit memory{.kill_reason = KillReason::Memory};
    const std::vector<Denial> denials = told_by({.type = "MemoryError"}, memory);
    ASSERT_EQ(rules_of(denials), Rules{"limits.memory"});
    EXPECT_EQ(denials.front().source, DenialSource::Limit);
    RawExit network = exited_with(1);
    network.denied = {{.call = "connect", .address = "192.0.2.1:443"}};
    EXPECT_EQ(rules_of(told_by({.type = "OSError", .sys_errno = ENETUNREACH}, network)),
              Rules{"network.off"});
}

TEST(Denials, TheGuestsTextIsShortAndClean) {
    const std::vector<Denial> denials =
        told_by({.type = "OSError",
                 .sys_errno = EROFS,
                 .path = "/usr/\n\x1b[31m\xFF\xC3\xA9\x7F" + std::string(5000, 'x')});
    const std::string& what = denials.front().what;
    EXPECT_TRUE(what.starts_with("tried to write /usr/??[31m?\xC3\xA9?xxx")) << what;
    EXPECT_TRUE(what.ends_with("x..."));
    EXPECT_LT(what.size(), 230U);
    std::string wide;
    for (int count = 0; count < 1000; ++count) {
        wide += "\xF0\x9F\x94\x94";
    }
    EXPECT_TRUE(
        is_valid_utf8(told_by({.type = "E", .sys_errno = EROFS, .path = "/" + wide}).front().what));
}

TEST(Denials, TheGuestCannotChangeTheStatus) {
    RunResult result{.error = GuestError{.type = "OSError", .sys_errno = ENOSPC, .path = "/x"}};
    judge(exited_with(1), Limits{}, result);
    EXPECT_EQ(result.status, Status::Error);
}

}  // namespace
}  // namespace belljar::outcome
