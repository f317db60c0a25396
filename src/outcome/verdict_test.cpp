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
                                    KillReason::ServerGone, KillReason::Memory}) {
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

TEST(Verdict, AnOrderToEndForWantOfMemoryIsMemory) {
    for (RawExit exit : {exited_with(0), exited_with(1), died_by(SIGKILL), RawExit{}}) {
        exit.kill_reason = KillReason::Memory;
        check({{"without the counter", exit, Status::Memory},
               {"with it", with(exit, 1, 0), Status::Memory},
               {"and a refused fork", with(exit, 1, 9), Status::Memory}});
    }
}

TEST(Verdict, AFullDiskMattersOnlyToAProgramThatFailed) {
    const auto full = [](RawExit exit) {
        exit.disk_full = true;
        return exit;
    };
    check({{"coped with it", full(exited_with(0)), Status::Ok},
           {"exit 1", full(exited_with(1)), Status::Disk},
           {"died", full(died_by(SIGBUS)), Status::Disk},
           {"vanished", full(RawExit{}), Status::Disk},
           {"a refused call", full(died_by(SIGSYS)), Status::Disk},
           {"memory comes first", full(with(exited_with(1), 1, 0)), Status::Memory},
           {"processes come first", full(with(exited_with(1), 0, 1)), Status::Processes},
           {"a deadline comes first", full(killed_for(KillReason::Deadline)), Status::Timeout}});
}

// A program that sends itself a signal or chooses an exit code gets that told, and nothing that it
// did not have.
TEST(Verdict, ForgedSignalsAreWhatTheyWere) {
    check({{"SIGKILL", died_by(SIGKILL), Status::Killed},
           {"SIGXCPU", died_by(SIGXCPU), Status::Killed},
           {"SIGALRM", died_by(SIGALRM), Status::Killed}});
    for (const int signal : {SIGKILL, SIGXCPU, SIGALRM, SIGSYS, SIGXFSZ}) {
        EXPECT_EQ(judged(died_by(signal)).signal, signal);
    }
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

TEST(Verdict, ComesWithItsDenials) {
    const RunResult result = judged(killed_for(KillReason::Deadline));
    ASSERT_EQ(result.denials.size(), 1U);
    EXPECT_EQ(result.denials.front().rule, "limits.timeout");
    EXPECT_TRUE(judged(exited_with(0)).denials.empty());
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
