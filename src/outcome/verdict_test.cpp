#include "outcome/verdict.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>

namespace belljar::outcome {
namespace {

using execution::KillReason;
using execution::Limits;
using execution::RawExit;
using execution::RunResult;
using execution::Status;

RunResult judged(const RawExit& exit) {
    RunResult result;
    judge(exit, Limits{}, result);
    return result;
}

RawExit exited_with(int code) { return {.exited = true, .wait_status = W_EXITCODE(code, 0)}; }

RawExit died_by(int signal) { return {.exited = true, .wait_status = W_EXITCODE(0, signal)}; }

RawExit killed_for(KillReason reason) { return {.kill_reason = reason, .exited = false}; }

struct Row {
    std::string name;
    RawExit exit;
    Status status;
};

RawExit with(RawExit exit, std::uint64_t out_of_memory_kills, std::uint64_t process_limit_hits) {
    exit.out_of_memory_kills = out_of_memory_kills;
    exit.process_limit_hits = process_limit_hits;
    return exit;
}

void check(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
        EXPECT_EQ(execution::name_of(judged(row.exit).status), execution::name_of(row.status))
            << row.name;
    }
}

TEST(Verdict, OfAProgramThatEndedByItself) {
    check({{"exit 0", exited_with(0), Status::Ok},
           {"exit 1", exited_with(1), Status::Error},
           {"exit 255", exited_with(255), Status::Error},
           {"SIGSEGV", died_by(SIGSEGV), Status::Killed},
           {"SIGABRT", died_by(SIGABRT), Status::Killed},
           {"SIGTERM", died_by(SIGTERM), Status::Killed},
           {"SIGKILL by itself", died_by(SIGKILL), Status::Killed},
           {"SIGXCPU", died_by(SIGXCPU), Status::Killed},
           {"SIGSYS", died_by(SIGSYS), Status::Denied},
           {"SIGXFSZ", died_by(SIGXFSZ), Status::Disk}});
}

TEST(Verdict, ForgedExitCodesStayErrors) {
    check({{"124 of timeout(1)", exited_with(124), Status::Error},
           {"125", exited_with(125), Status::Error},
           {"137 of a SIGKILL", exited_with(137), Status::Error},
           {"139 of a SIGSEGV", exited_with(139), Status::Error},
           {"159 of a SIGSYS", exited_with(159), Status::Error}});
    EXPECT_EQ(judged(exited_with(137)).exit_code, 137);
    EXPECT_FALSE(judged(exited_with(137)).signal);
}

TEST(Verdict, OurOwnKillReasonComesFirst) {
    check({{"deadline", killed_for(KillReason::Deadline), Status::Timeout},
           {"output", killed_for(KillReason::Output), Status::Output},
           {"cancelled", killed_for(KillReason::Cancelled), Status::Cancelled},
           {"server gone", killed_for(KillReason::ServerGone), Status::Cancelled}});
    for (const KillReason reason : {KillReason::Deadline, KillReason::Output, KillReason::Cancelled,
                                    KillReason::ServerGone}) {
        const Status expected = judged(killed_for(reason)).status;
        for (RawExit exit : {exited_with(0), exited_with(1), died_by(SIGSYS), RawExit{}}) {
            exit.kill_reason = reason;
            check({{"without counters", exit, expected},
                   {"with an OOM kill", with(exit, 1, 0), expected},
                   {"with a refused fork", with(exit, 0, 1), expected},
                   {"with both", with(exit, 5, 5), expected}});
        }
    }
}

TEST(Verdict, TheKernelsMemoryCounterComesBeforeTheExit) {
    for (const RawExit& exit :
         {exited_with(0), exited_with(1), exited_with(137), died_by(SIGKILL), RawExit{}}) {
        check({{"one OOM kill", with(exit, 1, 0), Status::Memory},
               {"and a refused fork", with(exit, 1, 9), Status::Memory}});
    }
}

TEST(Verdict, ARefusedForkMattersOnlyToAProgramThatFailed) {
    check({{"coped with it", with(exited_with(0), 0, 3), Status::Ok},
           {"exit 1", with(exited_with(1), 0, 1), Status::Processes},
           {"died", with(died_by(SIGABRT), 0, 1), Status::Processes},
           {"vanished", with(RawExit{}, 0, 1), Status::Processes}});
}

TEST(Verdict, OfAGuestThatVanishedWithoutReason) {
    const RunResult result = judged(RawExit{});
    EXPECT_EQ(result.status, Status::Killed);
    EXPECT_EQ(result.signal, SIGKILL);
    EXPECT_FALSE(result.exit_code);
}

TEST(Verdict, TellsEitherAnExitCodeOrASignal) {
    EXPECT_EQ(judged(exited_with(3)).exit_code, 3);
    EXPECT_FALSE(judged(exited_with(3)).signal);
    EXPECT_EQ(judged(died_by(SIGSEGV)).signal, SIGSEGV);
    EXPECT_FALSE(judged(died_by(SIGSEGV)).exit_code);
    EXPECT_EQ(judged(killed_for(KillReason::Deadline)).signal, SIGKILL);
    EXPECT_FALSE(judged(killed_for(KillReason::Deadline)).exit_code);
}

// WCOREDUMP sets a bit beside the signal.
TEST(Verdict, ACoreDumpIsStillItsSignal) {
    const RawExit exit{.exited = true, .wait_status = SIGSEGV | 0x80};
    EXPECT_EQ(judged(exit).signal, SIGSEGV);
    EXPECT_EQ(judged(exit).status, Status::Killed);
}

TEST(Verdict, EveryReachedLimitIsExplained) {
    const std::vector<std::pair<RawExit, std::string>> reached{
        {killed_for(KillReason::Deadline), "limits.timeout"},
        {with(died_by(SIGKILL), 1, 0), "limits.memory"},
        {with(exited_with(1), 0, 1), "limits.processes"},
        {killed_for(KillReason::Output), "limits.output_flood"},
        {died_by(SIGXFSZ), "limits.workspace"}};
    for (const auto& [exit, rule] : reached) {
        const RunResult result = judged(exit);
        ASSERT_EQ(result.denials.size(), 1U) << rule;
        EXPECT_EQ(result.denials.front().rule, rule);
        EXPECT_FALSE(result.denials.front().what.empty());
        EXPECT_FALSE(result.denials.front().hint.empty());
    }
}

TEST(Verdict, NamesTheLimitThatWasReached) {
    RunResult result;
    Limits limits;
    limits.timeout = std::chrono::milliseconds(2500);
    judge(killed_for(KillReason::Deadline), limits, result);
    EXPECT_EQ(result.denials.front().what, "ran longer than 2.5 seconds");
    limits.memory = mebibytes(64);
    judge(with(exited_with(1), 1, 0), limits, result);
    EXPECT_EQ(result.denials.back().what, "used more than 64m of memory");
}

TEST(Verdict, ExplainsNothingWhereNoLimitWasReached) {
    for (const RawExit& exit : {exited_with(0), exited_with(1), died_by(SIGSEGV),
                                killed_for(KillReason::Cancelled), RawExit{}}) {
        EXPECT_TRUE(judged(exit).denials.empty());
    }
}

TEST(Verdict, CarriesTheUsage) {
    RawExit exit = exited_with(0);
    exit.wall = std::chrono::milliseconds(1500);
    exit.cpu = std::chrono::milliseconds(700);
    exit.memory_peak_bytes = 1;
    exit.disk_used_bytes = 2;
    exit.processes_peak = 3;
    const execution::Usage usage = judged(exit).usage;
    EXPECT_EQ(usage.wall, exit.wall);
    EXPECT_EQ(usage.cpu, exit.cpu);
    EXPECT_EQ(usage.memory_peak_bytes, 1U);
    EXPECT_EQ(usage.disk_written_bytes, 2U);
    EXPECT_EQ(usage.processes_peak, 3U);
}

TEST(Verdict, LeavesWhatTheGuestSaidAlone) {
    RunResult result{.result_repr = "1", .error = execution::GuestError{.type = "E"}};
    judge(exited_with(0), Limits{}, result);
    EXPECT_EQ(result.status, Status::Ok);
    EXPECT_EQ(result.result_repr, "1");
    EXPECT_TRUE(result.error);
}

}  // namespace
}  // namespace belljar::outcome
