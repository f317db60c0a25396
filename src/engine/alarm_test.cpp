#include "engine/alarm.h"

#include <gtest/gtest.h>

#include <vector>

namespace belljar::engine {
namespace {

using alerts::Kill;
using alerts::Rule;
using execution::Denial;
using execution::DenialSource;
using execution::RunResult;
using execution::SecurityEvent;
using execution::Severity;

class AlarmTest : public testing::Test {
   protected:
    void make(alerts::Rules rules, alerts::Holds holds = {}) {
        alarm = std::make_unique<Alarm>(std::move(rules), std::move(holds), log);
        alarm->reach({.end_all = [this](std::string who) { done.push_back("all of " + who); },
                      .end_run = [this](std::string id) { done.push_back("run " + id); },
                      .end_sessions =
                          [this](std::string who, std::string conversation) {
                              done.push_back("sessions of " + who + " in " + conversation);
                          },
                      // As the engine does: everybody is told, we as well.
                      .notice =
                          [this](const SecurityEvent& event) {
                              told.push_back(event);
                              alarm->notice(event);
                          },
                      .show = [this](const std::optional<std::string>& who,
                                     std::string) { shown.push_back(who.value_or("-")); },
                      .post = [this](std::string body) { posted.push_back(std::move(body)); },
                      .keep = [this](std::string text) { kept = std::move(text); }});
    }
    static SecurityEvent escape(std::string who) {
        return {.kind = "escape",
                .name = "seccomp.mount",
                .severity = Severity::High,
                .principal = std::move(who),
                .execution_id = "run-1",
                .conversation_id = "notes",
                .text = "the program tried to change what is mounted"};
    }

    Log log{"test", LogLevel::Error};
    std::unique_ptr<Alarm> alarm;
    std::vector<std::string> done;
    std::vector<SecurityEvent> told;
    std::vector<std::string> shown;
    std::vector<std::string> posted;
    std::string kept;
};

TEST_F(AlarmTest, TellsEverybodyOnceAndDoesNotHearItself) {
    make({{.name = "escapes", .kinds = {"escape", "alert"}, .count = 2}});
    for (int round = 0; round < 10; ++round) {
        alarm->notice(escape("ann"));
    }
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].kind, "alert");
    EXPECT_EQ(told[0].name, "escapes");
    EXPECT_EQ(told[0].details.at("events"), "2");
    EXPECT_EQ(shown, std::vector<std::string>{"ann"});
    ASSERT_EQ(posted.size(), 1U);
    EXPECT_TRUE(posted[0].contains("\"rule\":\"escapes\""));
    EXPECT_EQ(alarm->tower().recent().size(), 1U);
    EXPECT_TRUE(done.empty());
    EXPECT_TRUE(alarm->admit({.principal = "ann"}));
}

TEST_F(AlarmTest, DoesWhatTheRuleSays) {
    make({{.name = "escapes",
           .kinds = {"escape"},
           .kill = Kill::All,
           .block = std::chrono::minutes(5),
           .quarantine = true}});
    alarm->notice(escape("ann"));
    EXPECT_EQ(done, (std::vector<std::string>{"sessions of ann in notes", "all of ann"}));
    const Result<void> refused = alarm->admit({.principal = "ann"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Denied);
    EXPECT_GT(refused.error().retry_after, std::chrono::seconds(290));
    EXPECT_TRUE(alarm->admit({.principal = "ben"}));
    EXPECT_TRUE(alarm->lift_block("ann", "op"));
    EXPECT_TRUE(alarm->admit({.principal = "ann"}));
    EXPECT_FALSE(alarm->admit({.principal = "ann", .conversation_id = "notes"}));
    EXPECT_TRUE(alarm->admit({.principal = "ann", .conversation_id = "other"}));
    EXPECT_FALSE(alarm->guard().check({.principal = "ann", .conversation_id = "notes"}));
    EXPECT_EQ(alarm->guard().guarded().size(), 1U);
    const Result<alerts::Holds> held = alerts::Holds::parse(kept);
    ASSERT_TRUE(held);
    EXPECT_TRUE(held->is_quarantined("ann", "notes"));
    EXPECT_TRUE(alarm->lift_quarantine({.principal = "ann", .conversation_id = "notes"}, "op"));
    EXPECT_TRUE(alarm->admit({.principal = "ann", .conversation_id = "notes"}));
    EXPECT_FALSE(alarm->lift_quarantine({.principal = "ann", .conversation_id = "notes"}, "op"));
    EXPECT_EQ(alarm->tower().recent().front().done.size(), 3U);
}

TEST_F(AlarmTest, EndsTheOneRunIfThatIsAllTheRuleSays) {
    make({{.name = "escapes", .kinds = {"escape"}, .kill = Kill::Run}});
    alarm->notice(escape("ann"));
    EXPECT_EQ(done, std::vector<std::string>{"run run-1"});
}

TEST_F(AlarmTest, MakesEventsOfResultsButNotOfWhatGuestsSay) {
    make({{.name = "any", .kinds = {"denial", "escape", "quota"}, .cool_down = Duration{}}});
    RunResult result{.execution_id = "run-2"};
    result.denials = {{.rule = "network.off", .source = DenialSource::Guest},
                      {.rule = "limits.memory", .source = DenialSource::Limit},
                      {.rule = "seccomp.mount", .source = DenialSource::Kernel},
                      {.rule = "seccomp.kill", .source = DenialSource::Kernel}};
    EXPECT_TRUE(alarm->record({.principal = "ann"}, result));
    ASSERT_EQ(alarm->tower().recent().size(), 1U) << "of a run, the others were told at once";
    EXPECT_EQ(alarm->tower().recent().back().event.name, "seccomp.kill");
    result.session = execution::CellNews{};
    EXPECT_TRUE(alarm->record({.principal = "ann"}, result));
    EXPECT_EQ(alarm->tower().recent().size(), 3U);
    EXPECT_TRUE(alarm->record({.principal = "ann"}, fail(ErrorCode::QuotaReached, "enough")));
    EXPECT_EQ(alarm->tower().recent().back().event.kind, "quota");
    EXPECT_TRUE(alarm->record({.principal = "ann"}, fail(ErrorCode::Denied, "no")));
    EXPECT_EQ(alarm->tower().recent().back().event.name, "policy.refused");
    EXPECT_TRUE(alarm->record({.principal = "ann"}, fail(ErrorCode::InvalidArgument, "what?")));
    EXPECT_EQ(alarm->tower().recent().size(), 5U);
}

TEST_F(AlarmTest, ItsOwnRefusalsAreNoNews) {
    make({{.name = "denials", .kinds = {"denial"}}});
    alarm->block("ann", std::chrono::hours(1), "why", "op");
    const Result<void> refused = alarm->admit({.principal = "ann"});
    ASSERT_FALSE(refused);
    EXPECT_TRUE(alarm->record({.principal = "ann"}, fail(refused.error())));
    EXPECT_TRUE(alarm->tower().recent().empty());
}

TEST_F(AlarmTest, NoticesAnotherGrade) {
    make(alerts::usual_rules());
    alarm->see_grade("strong");
    EXPECT_TRUE(alarm->tower().recent().empty()) << "the first time there is nothing to compare";
    EXPECT_TRUE(kept.contains("strong"));
    alarm->see_grade("strong");
    EXPECT_TRUE(alarm->tower().recent().empty());
    alarm->see_grade("basic");
    ASSERT_EQ(alarm->tower().recent().size(), 1U);
    EXPECT_EQ(alarm->tower().recent().back().rule.name, "grade");
    EXPECT_EQ(shown, std::vector<std::string>{"-"});
}

}  // namespace
}  // namespace belljar::engine
