#include "attack_verdict.h"

#include <gtest/gtest.h>

namespace belljar::apps {
namespace {

using execution::RunResult;
using execution::Status;

Attack make_attack(Conduct conduct = {}) {
    return {.name = "example", .kind = "Escape", .conduct = conduct};
}

RunResult make_run(Status status, std::string result = R"({"held": true, "seen": "walls"})") {
    return {.status = status, .exit_code = 0, .result_json = std::move(result)};
}

Trial make_trial(Result<RunResult> run) {
    Trial trial;
    trial.runs.push_back(std::move(run));
    return trial;
}

std::vector<std::string> faults_of(const Attack& attack, Result<RunResult> run) {
    return find_faults(attack, make_trial(std::move(run)));
}

TEST(AttackVerdict, HoldsIfTheAttackSaysSo) {
    EXPECT_TRUE(faults_of(make_attack(), make_run(Status::Ok)).empty());
}

TEST(AttackVerdict, FaultIsWhatTheAttackSaysGotThrough) {
    const auto faults =
        faults_of(make_attack(), make_run(Status::Ok, R"({"held": false, "seen": "a hole"})"));
    EXPECT_EQ(faults, std::vector<std::string>{"a hole"});
}

TEST(AttackVerdict, SilenceIsNotHolding) {
    for (const char* result : {"null", "1", "{}", R"({"held": 1})", R"({"held": "true"})", "{"}) {
        EXPECT_EQ(faults_of(make_attack(), make_run(Status::Ok, result)).size(), 1U) << result;
    }
    RunResult silent = make_run(Status::Ok);
    silent.result_json.reset();
    EXPECT_EQ(faults_of(make_attack(), silent).size(), 1U);
}

TEST(AttackVerdict, UnexpectedEndIsAFaultWhateverTheAttackSays) {
    for (const Status status : {Status::Error, Status::Timeout, Status::Memory, Status::Killed}) {
        EXPECT_EQ(faults_of(make_attack(), make_run(status)).size(), 1U);
    }
}

TEST(AttackVerdict, ExpectedEndNeedsNoWord) {
    const Attack attack = make_attack({.statuses = {Status::Timeout}});
    EXPECT_TRUE(faults_of(attack, make_run(Status::Timeout, "null")).empty());
    EXPECT_FALSE(faults_of(attack, make_run(Status::Ok)).empty());
}

TEST(AttackVerdict, WorthlessWordIsNotRead) {
    const Attack attack = make_attack({.word = Word::Worthless});
    EXPECT_TRUE(faults_of(attack, make_run(Status::Ok, "null")).empty());
}

TEST(AttackVerdict, RunThatCouldNotBeMadeIsAFault) {
    const auto faults = faults_of(make_attack(), fail(ErrorCode::Unavailable, "no warden"));
    ASSERT_EQ(faults.size(), 1U);
    EXPECT_NE(faults.front().find("no warden"), std::string::npos);
}

TEST(AttackVerdict, RefusalOfAHostileUploadIsWhatIsWanted) {
    const Attack attack = make_attack({.upload = Upload::Hostile});
    EXPECT_TRUE(faults_of(attack, fail(ErrorCode::InvalidArgument, "no such path")).empty());
    EXPECT_FALSE(faults_of(attack, fail(ErrorCode::Internal, "broken")).empty());
}

TEST(AttackVerdict, NoRunIsAFault) { EXPECT_EQ(find_faults(make_attack(), Trial{}).size(), 1U); }

TEST(AttackVerdict, EveryRunCounts) {
    Trial trial = make_trial(make_run(Status::Ok));
    trial.runs.emplace_back(make_run(Status::Ok, R"({"held": false, "seen": "met the other"})"));
    EXPECT_EQ(find_faults(make_attack(), trial), std::vector<std::string>{"met the other"});
}

TEST(AttackVerdict, JudgeHasTheLastWord) {
    const Attack attack =
        make_attack({.judge = [](const Trial&) { return std::string("seen from outside"); }});
    EXPECT_EQ(faults_of(attack, make_run(Status::Ok)),
              std::vector<std::string>{"seen from outside"});
}

TEST(AttackVerdict, ConclusionNamesWhatWasSeen) {
    const Attack attack = make_attack();
    const Trial trial = make_trial(make_run(Status::Ok));
    EXPECT_EQ(conclude(attack, trial, {}, {}).verdict, Verdict::Held);
    EXPECT_EQ(conclude(attack, trial, {}, {}).seen, "walls");
    const Finding broken = conclude(attack, trial, {.faults = {"a hole"}}, {"seccomp"});
    EXPECT_EQ(broken.verdict, Verdict::Broken);
    EXPECT_EQ(broken.seen, "a hole");
}

TEST(AttackVerdict, FaultForWantOfANamedLayerIsAKnownGap) {
    Attack attack = make_attack();
    attack.needs = {"seccomp"};
    const Trial trial = make_trial(make_run(Status::Ok));
    const Finding gap = conclude(attack, trial, {.faults = {"a hole"}}, {"landlock", "seccomp"});
    EXPECT_EQ(gap.verdict, Verdict::KnownGap);
    EXPECT_EQ(gap.seen, "known gap: seccomp missing; a hole");
    EXPECT_EQ(conclude(attack, trial, {.faults = {"a hole"}}, {"landlock"}).verdict,
              Verdict::Broken);
    EXPECT_EQ(conclude(attack, trial, {}, {"seccomp"}).verdict, Verdict::Held);
}

TEST(AttackVerdict, DamageIsNeverExcused) {
    Attack attack = make_attack();
    attack.needs = {"seccomp"};
    const Trial trial = make_trial(make_run(Status::Ok));
    const Finding broken = conclude(attack, trial, {.damage = {"a file was read"}}, {"seccomp"});
    EXPECT_EQ(broken.verdict, Verdict::Broken);
    EXPECT_EQ(broken.seen, "a file was read");
}

TEST(AttackVerdict, EverythingSaidHoldsOutputResultAndError) {
    RunResult run = make_run(Status::Error, R"({"seen": "in the result"})");
    run.stdout_stream.text = "on standard output";
    run.stderr_stream.text = "on standard error";
    run.error = {.type = "OSError", .message = "in the message"};
    const std::string said = everything_said(make_trial(run));
    for (const char* part :
         {"on standard output", "on standard error", "in the result", "in the message"}) {
        EXPECT_NE(said.find(part), std::string::npos) << part;
    }
}

}  // namespace
}  // namespace belljar::apps
