#include "attack_report.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <sstream>

#include "base/json.h"

namespace belljar::apps {
namespace {

class AttackReportTest : public testing::Test {
   protected:
    AttackReportTest() {
        escape = {.name = "way_out",
                  .kind = "Escape",
                  .tries = "many words about an attempt that do not fit on one line of the table",
                  .expects = "refused",
                  .needs = {"seccomp"}};
        leak = {.name = "look_out", .kind = "HostLeak", .tries = "look", .expects = "nothing"};
        report = {.version = "1.2.3",
                  .mode = "root",
                  .isolation = {.grade = "standard", .tier = "kernel", .missing = {"seccomp"}}};
    }

    Attack escape;
    Attack leak;
    AttackReport report;
};

TEST_F(AttackReportTest, BrokenIfOneIs) {
    report.findings = {{.attack = &escape, .verdict = Verdict::Held},
                       {.attack = &escape, .verdict = Verdict::KnownGap},
                       {.attack = &leak, .verdict = Verdict::NotApplicable}};
    EXPECT_FALSE(report.broken());
    report.findings.push_back({.attack = &leak, .verdict = Verdict::Broken});
    EXPECT_TRUE(report.broken());
}

TEST_F(AttackReportTest, TableHasShortLinesAndCountsByClass) {
    report.findings = {
        {.attack = &escape, .verdict = Verdict::Broken, .seen = std::string(200, 'x')},
        {.attack = &leak, .verdict = Verdict::Held, .seen = "nothing"}};
    const std::string text = render_text(report);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), 130U) << line;
        EXPECT_FALSE(line.ends_with(' ')) << line;
    }
    EXPECT_NE(text.find("BROKEN"), std::string::npos);
    EXPECT_NE(text.find("\nEscape       1 BROKEN\n"), std::string::npos);
    EXPECT_NE(text.find("\nHostLeak     1 held\n"), std::string::npos);
    EXPECT_NE(text.find("\nall          1 held, 1 BROKEN\n"), std::string::npos);
    EXPECT_NE(text.find("Isolation grade: standard (tier kernel, mode root)"), std::string::npos);
    EXPECT_NE(text.find("missing: seccomp"), std::string::npos);
}

TEST_F(AttackReportTest, TerminalObeysNothingOfWhatAGuestSaid) {
    report.findings = {
        {.attack = &leak, .verdict = Verdict::Broken, .seen = "\x1b[2J\x07 \xff\x7f clear"}};
    const std::string text = render_text(report);
    EXPECT_EQ(text.find_first_of("\x1b\x07\x7f\xff"), std::string::npos);
    EXPECT_NE(text.find("clear"), std::string::npos);
}

TEST_F(AttackReportTest, JsonHasEverything) {
    report.findings = {
        {.attack = &escape, .verdict = Verdict::KnownGap, .seen = "a \xff gap"},
        {.attack = &leak, .verdict = Verdict::Held, .seen = "nothing", .wall = Duration(1)}};
    const Result<json::value> parsed = parse_json(render_json(report));
    ASSERT_TRUE(parsed);
    const json::object& object = parsed->as_object();
    EXPECT_EQ(object.at("held"), true);
    EXPECT_EQ(object.at("mode"), "root");
    EXPECT_EQ(object.at("version"), "1.2.3");
    EXPECT_EQ(object.at("summary").at("known gap"), 1);
    EXPECT_EQ(object.at("summary").at("classes").at("HostLeak").at("held"), 1);
    const json::object& gap = object.at("attacks").as_array().at(0).as_object();
    EXPECT_EQ(gap.at("name"), "way_out");
    EXPECT_EQ(gap.at("class"), "Escape");
    EXPECT_EQ(gap.at("verdict"), "known gap");
    EXPECT_EQ(gap.at("needs").as_array().size(), 1U);
}

TEST_F(AttackReportTest, ListSaysWhatIsNotApplicable) {
    leak.not_applicable = "nothing to look at";
    const std::vector<const Attack*> attacks{&escape, &leak};
    EXPECT_NE(render_text(attacks).find("(not applicable:"), std::string::npos);
    const Result<json::value> parsed = parse_json(render_json(attacks));
    ASSERT_TRUE(parsed);
    const json::array& list = parsed->at("attacks").as_array();
    EXPECT_EQ(list.at(0).at("applicable"), true);
    EXPECT_EQ(list.at(1).at("applicable"), false);
    EXPECT_EQ(list.at(1).at("not_applicable"), "nothing to look at");
}

}  // namespace
}  // namespace belljar::apps
