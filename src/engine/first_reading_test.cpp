#include "engine/first_reading.h"

#include <gtest/gtest.h>

namespace belljar::engine {
namespace {

constexpr std::string_view kRules = R"(
[profiles.asking]
extends = "standard"
[profiles.asking.scan]
low = "warn"
high = "ask"
critical = "refuse"
)";
constexpr std::string_view kMark = "the mark";

class FirstReadingTest : public testing::Test {
   protected:
    FirstReading make(bool approved = false) {
        FirstReading reading(rules, **rules->find("asking"), approved);
        reading.on_pass([this] { ++passed; });
        return reading;
    }

    // What a guest says that found this, by the name of its rule.
    static std::string line(const std::string& rule, bool runs) {
        const std::string findings =
            rule.empty() ? "" : R"({"rule": ")" + rule + R"(", "line": 3})";
        return R"({"mark": "the mark", "findings": [)" + findings + R"(], "runs": )" +
               (runs ? "true}" : "false}");
    }

    std::shared_ptr<const policy::Rulebook> rules =
        policy::Rulebook::create({}, {{.name = "rules.toml", .text = std::string(kRules)}}).value();
    execution::RunPlan plan{.profile = "asking"};
    int passed = 0;
};

TEST_F(FirstReadingTest, OrdersWhatThePolicyMakesOfItsRules) {
    const auto order = make().order();
    EXPECT_NE(std::ranges::find(order->stops, "process.shell"), order->stops.end());
    EXPECT_NE(std::ranges::find(order->stops, "process.spawn"), order->stops.end());
    EXPECT_EQ(std::ranges::find(order->stops, "code.eval"), order->stops.end());
    const auto approved = make(true).order();
    EXPECT_NE(std::ranges::find(approved->stops, "process.shell"), approved->stops.end());
    EXPECT_EQ(std::ranges::find(approved->stops, "process.spawn"), approved->stops.end());
}

TEST_F(FirstReadingTest, LetsAProgramRunThatHasNothingInIt) {
    FirstReading reading = make();
    EXPECT_TRUE(reading.take(line("", true), kMark));
    EXPECT_EQ(passed, 1);
    EXPECT_TRUE(reading.close().empty());
    EXPECT_TRUE(reading.verdict(plan));
    EXPECT_EQ(passed, 1) << "once";
}

TEST_F(FirstReadingTest, TellsWhatOnlyWarns) {
    FirstReading reading = make();
    EXPECT_TRUE(reading.take(line("code.eval", true), kMark));
    ASSERT_EQ(reading.close().size(), 1U);
    EXPECT_EQ(reading.findings()[0].line, 3U);
    EXPECT_TRUE(reading.verdict(plan));
}

TEST_F(FirstReadingTest, RefusesWhateverTheGuestMakesOfIt) {
    for (const bool runs : {true, false}) {
        FirstReading reading = make();
        EXPECT_FALSE(reading.take(line("process.shell", runs), kMark));
        reading.close();
        const Result<void> verdict = reading.verdict(plan);
        ASSERT_FALSE(verdict);
        EXPECT_EQ(verdict.error().code, ErrorCode::Denied);
        EXPECT_TRUE(verdict.error().message.starts_with("refused by policy (profile asking)"));
    }
    EXPECT_EQ(passed, 0);
}

TEST_F(FirstReadingTest, AsksUnlessSomebodyHasAgreed) {
    FirstReading reading = make();
    EXPECT_FALSE(reading.take(line("process.spawn", false), kMark));
    reading.close();
    EXPECT_NE(reading.verdict(plan).error().message.find("wants a person to agree"),
              std::string::npos);
    FirstReading agreed = make(true);
    EXPECT_TRUE(agreed.take(line("process.spawn", true), kMark));
    agreed.close();
    EXPECT_TRUE(agreed.verdict(plan));
}

TEST_F(FirstReadingTest, BelievesNobodyElse) {
    for (const std::string& said :
         {std::string(), std::string("[]"), std::string("{}"), line("", true).substr(1),
          std::string(R"({"mark": "another", "findings": [], "runs": true})"),
          std::string(R"({"mark": null, "runs": true})"), std::string(2'000'000, ' ')}) {
        FirstReading reading = make();
        EXPECT_FALSE(reading.take(said, kMark)) << said.substr(0, 80);
        reading.close();
        EXPECT_EQ(reading.findings().at(0).rule, "code.unreadable");
        EXPECT_EQ(reading.verdict(plan).error().code, ErrorCode::Denied) << "high: asks";
    }
    EXPECT_EQ(passed, 0);
}

TEST_F(FirstReadingTest, AGuestThatSaidNothingDidNotReadIt) {
    FirstReading reading = make(true);
    reading.close();
    EXPECT_EQ(reading.findings().at(0).rule, "code.unreadable");
    EXPECT_TRUE(reading.verdict(plan)) << "somebody has agreed; what became of it is told";
    EXPECT_EQ(passed, 1);
}

TEST_F(FirstReadingTest, AProgramThatWasStoppedForNothingIsAnErrorOfOurs) {
    FirstReading reading = make();
    EXPECT_FALSE(reading.take(line("code.eval", false), kMark));
    reading.close();
    EXPECT_EQ(reading.verdict(plan).error().code, ErrorCode::Internal);
}

}  // namespace
}  // namespace belljar::engine
