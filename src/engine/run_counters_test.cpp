#include "engine/run_counters.h"

#include <gtest/gtest.h>

#include <numeric>

namespace belljar::engine {
namespace {

using execution::Protocol;
using execution::RunResult;
using execution::Status;
using std::chrono::milliseconds;

RunResult ended(Status status, Duration wall = milliseconds(20)) {
    return {.language = "python", .status = status, .usage = {.wall = wall}};
}

std::uint64_t total(const RunFigures& figures) {
    return std::accumulate(figures.wall.classes.begin(), figures.wall.classes.end(),
                           std::uint64_t{0});
}

TEST(RunCounters, StartAtNothing) {
    const RunCounters counters;
    EXPECT_TRUE(counters.figures().ended.empty());
    EXPECT_TRUE(counters.figures().refused.empty());
    EXPECT_TRUE(counters.figures().denials.empty());
    EXPECT_EQ(total(counters.figures()), 0U);
    EXPECT_EQ(counters.figures().wall.sum, Duration{});
}

TEST(RunCounters, CountByLanguageAndStatus) {
    RunCounters counters;
    counters.count(ended(Status::Ok), Protocol::Rest);
    counters.count(ended(Status::Ok), Protocol::Rest);
    counters.count(ended(Status::Timeout), Protocol::Rest);
    counters.count({.language = "bash", .status = Status::Ok}, Protocol::Rest);
    const RunFigures& figures = counters.figures();
    EXPECT_EQ(figures.ended.at({"python", Status::Ok}), 2U);
    EXPECT_EQ(figures.ended.at({"python", Status::Timeout}), 1U);
    EXPECT_EQ(figures.ended.at({"bash", Status::Ok}), 1U);
    EXPECT_EQ(figures.ended.size(), 3U);
    EXPECT_EQ(total(figures), 4U);
}

TEST(RunCounters, TimesFallIntoTheFirstClassThatHoldsThem) {
    RunCounters counters;
    counters.count(ended(Status::Ok, Duration{}), Protocol::Rest);
    counters.count(ended(Status::Ok, milliseconds(10)),
                   Protocol::Rest);  // the end belongs to its class
    counters.count(ended(Status::Ok, milliseconds(11)), Protocol::Rest);
    counters.count(ended(Status::Ok, std::chrono::seconds(300)), Protocol::Rest);
    counters.count(ended(Status::Ok, std::chrono::hours(24)), Protocol::Rest);
    const RunFigures& figures = counters.figures();
    EXPECT_EQ(figures.wall.classes.front(), 1U);
    EXPECT_EQ(figures.wall.classes[4], 1U);
    EXPECT_EQ(figures.wall.classes[5], 1U);
    EXPECT_EQ(figures.wall.classes[kClassSeconds.size() - 1], 1U);
    EXPECT_EQ(figures.wall.classes.back(), 1U);
    EXPECT_EQ(figures.wall.sum,
              milliseconds(21) + std::chrono::seconds(300) + std::chrono::hours(24));
}

TEST(RunCounters, EachStepHasItsTimes) {
    RunCounters counters;
    counters.count({.timing = {.jar = milliseconds(2), .record = milliseconds(7)}}, Protocol::Rest);
    const RunFigures& figures = counters.figures();
    EXPECT_EQ(figures.steps[0].sum, Duration{});
    EXPECT_EQ(figures.steps[1].sum, milliseconds(2));
    EXPECT_EQ(figures.steps[5].sum, milliseconds(7));
    EXPECT_EQ(figures.steps[5].classes[4], 1U);
}

TEST(RunCounters, CountRefusalsByCode) {
    RunCounters counters;
    counters.count_refusal(ErrorCode::Overloaded, Protocol::Rest);
    counters.count_refusal(ErrorCode::Overloaded, Protocol::Rest);
    counters.count_refusal(ErrorCode::Unsupported, Protocol::Rest);
    EXPECT_EQ(counters.figures().refused.at(ErrorCode::Overloaded), 2U);
    EXPECT_EQ(counters.figures().refused.at(ErrorCode::Unsupported), 1U);
    EXPECT_EQ(total(counters.figures()), 0U);
}

TEST(RunCounters, CountEveryDenialByItsRule) {
    RunCounters counters;
    RunResult result = ended(Status::Error);
    result.denials = {{.rule = "limits.memory"}, {.rule = "network"}, {.rule = "network"}};
    counters.count(result, Protocol::Rest);
    EXPECT_EQ(counters.figures().denials.at("network"), 2U);
    EXPECT_EQ(counters.figures().denials.at("limits.memory"), 1U);
}

TEST(RunCounters, RulesAreBounded) {
    RunCounters counters;
    for (int number = 0; number < 10'000; ++number) {
        RunResult result = ended(Status::Error);
        result.denials = {{.rule = "invented." + std::to_string(number)}, {.rule = "invented.0"}};
        counters.count(result, Protocol::Rest);
    }
    const RunFigures& figures = counters.figures();
    EXPECT_LE(figures.denials.size(), 257U);
    EXPECT_EQ(figures.denials.at("invented.0"), 10'001U) << "a known rule keeps its name";
    EXPECT_EQ(figures.denials.at("other"), 10'000U - 256U);
}

}  // namespace
}  // namespace belljar::engine
