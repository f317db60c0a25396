#include "alerts/rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "alerts/rules_file.h"

namespace belljar::alerts {
namespace {

using execution::SecurityEvent;
using execution::Severity;

const Rule& find(const Rules& rules, std::string_view name) {
    return *std::ranges::find(rules, name, &Rule::name);
}

TEST(AlertRule, UsualOnesTellAndDoNothingElse) {
    std::set<std::string> kinds;
    for (const Rule& rule : usual_rules()) {
        EXPECT_EQ(rule.kill, Kill::Nothing) << rule.name;
        EXPECT_EQ(rule.block, Duration{}) << rule.name;
        EXPECT_FALSE(rule.quarantine) << rule.name;
        kinds.insert(rule.kinds.begin(), rule.kinds.end());
    }
    EXPECT_EQ(kinds, (std::set<std::string>{"denial", "escape", "scan", "tool", "quota", "grade",
                                            "policy", "audit", "access"}));
}

TEST(AlertRule, ConcernsByKindNameAndSeverity) {
    const Rule rule{
        .kinds = {"denial"}, .names = {"seccomp.*", "network.off"}, .at_least = Severity::Medium};
    EXPECT_TRUE(
        concerns(rule, {.kind = "denial", .name = "seccomp.mount", .severity = Severity::High}));
    EXPECT_TRUE(
        concerns(rule, {.kind = "denial", .name = "network.off", .severity = Severity::Medium}));
    EXPECT_FALSE(concerns(rule, {.kind = "denial", .name = "network.off"}));
    EXPECT_FALSE(concerns(rule, {.kind = "denial", .name = "network", .severity = Severity::High}));
    EXPECT_FALSE(
        concerns(rule, {.kind = "escape", .name = "seccomp.mount", .severity = Severity::High}));
}

TEST(AlertRulesFile, ChangesWhatItNamesAndAddsWhatIsNew) {
    const Result<Rules> rules = parse_rules(R"(
[rules.escapes]
count = 1
kill = "all"
block = "1h"
quarantine = true

[rules.quota]
enabled = false

[rules.names]
kinds = ["denial", "escape"]
names = ["network.*"]
at_least = "low"
count = 5
window = "10s"
per = "everybody"
cool_down = "0s"
severity = "critical"
)",
                                            "rules.toml");
    ASSERT_TRUE(rules) << rules.error().message;
    const Rule& escapes = find(*rules, "escapes");
    EXPECT_EQ(escapes.count, 1U);
    EXPECT_EQ(escapes.window, std::chrono::minutes(5));  // as usual
    EXPECT_EQ(escapes.kill, Kill::All);
    EXPECT_EQ(escapes.block, std::chrono::hours(1));
    EXPECT_TRUE(escapes.quarantine);
    EXPECT_FALSE(find(*rules, "quota").enabled);
    const Rule& added = find(*rules, "names");
    EXPECT_EQ(added.per, Per::Everybody);
    EXPECT_EQ(added.cool_down, Duration{});
    EXPECT_EQ(added.severity, Severity::Critical);
    EXPECT_EQ(rules->size(), usual_rules().size() + 1);
    EXPECT_EQ(*parse_rules("", "rules.toml"), usual_rules());
}

struct BadFile {
    std::string_view text;
    std::string_view says;
};

TEST(AlertRulesFile, RefusesWhatItCannotTakeWhole) {
    constexpr auto kFiles = std::to_array<BadFile>({
        {"[rules.escapes]\ncuont = 1\n", "line 2: rule \"escapes\": \"cuont\" is not known"},
        {"[rules.new]\ncount = 1\n", "\"kinds\" must name some of denial"},
        {"[rules.new]\nkinds = [\"denail\"]\n", "\"kinds\" must name some of denial"},
        {"[rules.new]\nkinds = \"denial\"\n", "\"kinds\" must be a list"},
        {"[rules.escapes]\ncount = 0\n", "\"count\" must be a number from 1"},
        {"[rules.escapes]\ncount = 1.5\n", "\"count\" must be a number from 1"},
        {"[rules.escapes]\ncount = 100000000000\n", "\"count\" must be a number from 1"},
        {"[rules.escapes]\nwindow = \"soon\"\n", "\"window\" must be a time"},
        {"[rules.escapes]\nwindow = 5\n", "\"window\" must be a time"},
        {"[rules.escapes]\nwindow = \"0s\"\n", "\"window\" must be longer"},
        {"[rules.escapes]\nwindow = \"48h\"\n", "\"window\" must be a time"},
        {"[rules.escapes]\nkill = \"everyone\"\n", "\"kill\" must be one of nothing, run, all"},
        {"[rules.escapes]\nquarantine = \"yes\"\n", "\"quarantine\" must be true or false"},
        {"[rules.access]\nblock = \"1h\"\n", "\"per\" must be \"principal\""},
        {"[rules.\"a b\"]\ncount = 1\n", "the name of a rule"},
        {"[rules]\nescapes = 1\n", "must be a section"},
        {"rules = 1\n", "only sections such as"},
        {"[webhook]\nurl = \"x\"\n", "only sections such as"},
        {"[rules.escapes\n", "rules.toml, line 1"},
        {"\xff\xfe", "rules.toml"},
    });
    for (const BadFile& file : kFiles) {
        const Result<Rules> rules = parse_rules(file.text, "rules.toml");
        ASSERT_FALSE(rules) << file.text;
        EXPECT_TRUE(rules.error().message.contains(file.says)) << rules.error().message;
        EXPECT_TRUE(rules.error().message.starts_with("rules.toml")) << rules.error().message;
    }
    std::string many;
    for (int index = 0; index < 100; ++index) {
        many += "[rules.r" + std::to_string(index) + "]\nkinds = [\"denial\"]\n";
    }
    const Result<Rules> rules = parse_rules(many, "rules.toml");
    ASSERT_FALSE(rules);
    EXPECT_TRUE(rules.error().message.contains("more than 64 rules"));
}

}  // namespace
}  // namespace belljar::alerts
