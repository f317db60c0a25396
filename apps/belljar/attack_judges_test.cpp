#include "attack_judges.h"

#include <gtest/gtest.h>

#include <csignal>

namespace belljar::apps {
namespace {

using execution::RunResult;
using execution::Status;
using std::chrono::milliseconds;
using std::chrono::seconds;

Trial make_trial(std::vector<RunResult> runs) {
    Trial trial{.token = "0123456789abcdef"};
    for (RunResult& run : runs) {
        trial.runs.emplace_back(std::move(run));
    }
    return trial;
}

TEST(AttackJudges, SharedFilesMustLookTheSameInTheNextJar) {
    const RunResult one{.result_json = R"({"sha256": {"/lib": "aa"}})"};
    const RunResult other{.result_json = R"({"sha256": {"/lib": "bb"}})"};
    EXPECT_EQ(judge_same_files(make_trial({one, one})), "");
    EXPECT_NE(judge_same_files(make_trial({one, other})), "");
    EXPECT_NE(judge_same_files(make_trial({RunResult{}, RunResult{}})), "");
}

TEST(AttackJudges, ForeignAbiEndsBySignal) {
    EXPECT_EQ(judge_foreign_abi(make_trial({{.status = Status::Denied, .signal = SIGSYS}})), "");
    EXPECT_EQ(judge_foreign_abi(make_trial({{.status = Status::Killed, .signal = SIGSEGV}})), "");
    EXPECT_NE(judge_foreign_abi(make_trial({{.status = Status::Killed, .signal = SIGKILL}})), "");
}

TEST(AttackJudges, NextJarHasAnotherUser) {
    Trial trial = make_trial({RunResult{}, RunResult{}});
    trial.users = {"2000000001", "2000000002"};
    EXPECT_EQ(judge_fresh_user(trial), "");
    trial.users = {"2000000001", "2000000001"};
    EXPECT_NE(judge_fresh_user(trial), "");
    trial.runs[0]->isolation.missing = {"unique_user"};
    EXPECT_EQ(judge_fresh_user(trial), "");
    trial.users = {"2000000001"};
    EXPECT_NE(judge_fresh_user(trial), "");
}

TEST(AttackJudges, ProcessesStayBelowTheLimit) {
    Trial trial = make_trial({{.usage = {.processes_peak = 64}}});
    EXPECT_EQ(judge_process_peak(trial), "");
    trial.limits.processes = 63;
    EXPECT_NE(judge_process_peak(trial), "");
}

TEST(AttackJudges, BombLeavesItsNeighbourAlone) {
    Trial trial = make_trial({RunResult{}});
    trial.beside.emplace_back(RunResult{.status = Status::Ok});
    EXPECT_EQ(judge_bomb(trial), "");
    trial.beside[0] = RunResult{.status = Status::Timeout};
    EXPECT_NE(judge_bomb(trial), "");
    trial.beside[0] = fail(ErrorCode::Overloaded, "full");
    EXPECT_NE(judge_bomb(trial), "");
}

TEST(AttackJudges, DeadlineIsKept) {
    const auto judge = [](Duration wall) {
        Trial trial = make_trial({{.usage = {.wall = wall}}});
        trial.limits.timeout = seconds(1);
        return judge_deadline(trial);
    };
    EXPECT_EQ(judge(milliseconds(1000)), "");
    EXPECT_EQ(judge(milliseconds(1900)), "");
    EXPECT_NE(judge(milliseconds(900)), "");
    EXPECT_NE(judge(milliseconds(2100)), "");
}

TEST(AttackJudges, ServerDoesNotGrow) {
    Trial trial = make_trial({RunResult{}});
    trial.memory_growth = mebibytes(1).count;
    EXPECT_EQ(judge_flat_memory(trial), "");
    trial.memory_growth = gibibytes(2).count;
    EXPECT_NE(judge_flat_memory(trial), "");
    EXPECT_NE(judge_strange_output(trial), "");
}

TEST(AttackJudges, OutputIsKeptWithinItsLimit) {
    RunResult run;
    run.stdout_stream.text.assign(mebibytes(2).count, 'x');
    EXPECT_NE(judge_strange_output(make_trial({run})), "");
}

TEST(AttackJudges, ExitCodeIsTheProgramsOwn) {
    EXPECT_EQ(judge_exit<137>(make_trial({{.exit_code = 137}})), "");
    EXPECT_NE(judge_exit<137>(make_trial({{.exit_code = 0}})), "");
    EXPECT_NE(judge_exit<137>(make_trial({{.signal = SIGKILL}})), "");
}

TEST(AttackJudges, ClosedChannelGivesNoResult) {
    EXPECT_EQ(judge_no_result(make_trial({{.exit_code = 0}})), "");
    EXPECT_NE(judge_no_result(make_trial({{.exit_code = 0, .result_json = "1"}})), "");
    EXPECT_NE(judge_no_result(make_trial({{.exit_code = 1}})), "");
}

TEST(AttackJudges, TrapsAreNotReturnedAsFiles) {
    const auto judge = [](std::string name) {
        RunResult run;
        run.files.push_back({.name = std::move(name)});
        return judge_returned_files(make_trial({run}));
    };
    EXPECT_EQ(judge("plain.txt"), "");
    for (const char* name : {"/etc/passwd", "../x", "trap-link-0", "a/trap-fifo"}) {
        EXPECT_NE(judge(name), "") << name;
    }
}

TEST(AttackJudges, RequestsThatLeadOutAreRefused) {
    EXPECT_EQ(judge_conversation(make_trial({RunResult{}})), "");
    EXPECT_EQ(judge_upload(make_trial({RunResult{}})), "");
}

}  // namespace
}  // namespace belljar::apps
