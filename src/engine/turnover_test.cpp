#include "engine/turnover.h"

#include <gtest/gtest.h>

namespace belljar::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class TurnoverTest : public testing::Test {
   protected:
    TurnoverTest() { turnover.began(start); }

    const TimePoint start = Clock::now();
    Turnover turnover;
};

TEST_F(TurnoverTest, IsAtLeastASecond) {
    EXPECT_EQ(turnover.time_for({.runs = 0, .places = 16}, start), seconds(1));
    turnover.ended(milliseconds(5));
    EXPECT_EQ(turnover.time_for({.runs = 100, .places = 16}, start), seconds(1));
}

TEST_F(TurnoverTest, IsAtMostAMinute) {
    turnover.ended(std::chrono::hours(24));
    EXPECT_EQ(turnover.time_for({.runs = 1'000'000, .places = 1}, start), seconds(60));
}

TEST_F(TurnoverTest, GrowsWithTheQueueAndShrinksWithThePlaces) {
    turnover.ended(seconds(2));
    EXPECT_EQ(turnover.time_for({.runs = 4, .places = 4}, start), seconds(2));
    EXPECT_EQ(turnover.time_for({.runs = 8, .places = 4}, start), seconds(4));
    EXPECT_EQ(turnover.time_for({.runs = 8, .places = 2}, start), seconds(8));
}

TEST_F(TurnoverTest, RoundsUp) {
    turnover.ended(milliseconds(1100));
    EXPECT_EQ(turnover.time_for({.runs = 1, .places = 1}, start), seconds(2));
}

TEST_F(TurnoverTest, FollowsTheRecentRuns) {
    turnover.ended(seconds(40));
    for (int run = 0; run < 100; ++run) {
        turnover.ended(seconds(2));
    }
    EXPECT_EQ(turnover.time_for({.runs = 1, .places = 1}, start), seconds(3));
    turnover.ended(seconds(42));
    EXPECT_EQ(turnover.time_for({.runs = 1, .places = 1}, start), seconds(8));
}

TEST_F(TurnoverTest, SeesThatNobodyHasMadePlaceForLong) {
    turnover.ended(milliseconds(5));
    EXPECT_EQ(turnover.time_for({.runs = 4, .places = 2}, start + seconds(10)), seconds(20));
    turnover.began(start + seconds(10));
    EXPECT_EQ(turnover.time_for({.runs = 4, .places = 2}, start + seconds(10)), seconds(1));
}

}  // namespace
}  // namespace belljar::engine
