#include "engine/daily_quota.h"

#include <gtest/gtest.h>

namespace belljar::engine {
namespace {

using namespace std::chrono_literals;

DailyQuota::WallTime at(std::chrono::seconds of_day) {
    return std::chrono::sys_days(std::chrono::year(2026) / 3 / 1) + of_day;
}

TEST(DailyQuota, SaysHowLongTheDayLasts) {
    EXPECT_EQ(until_midnight(at(0s)), 24h);
    EXPECT_EQ(until_midnight(at(23h + 59min + 59s)), 1s);
    EXPECT_EQ(until_midnight(at(23h + 59min + 59s) + 500ms), 1s);
}

TEST(DailyQuota, RefusesRunsBeyondTheDays) {
    DailyQuota quota;
    const execution::PrincipalLimits limits{.runs_per_day = 3};
    EXPECT_TRUE(quota.reserve("alice", limits, {.runs = 2}, at(1h)));
    const auto refused = quota.reserve("alice", limits, {.runs = 3}, at(1h));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::QuotaReached);
    EXPECT_EQ(refused.error().retry_after, 23h);
    EXPECT_NE(refused.error().message.find("3 runs"), std::string::npos);
}

TEST(DailyQuota, CountsARunOnceThatIsCountedElsewhereSinceItsStart) {
    DailyQuota quota;
    const execution::PrincipalLimits limits{.runs_per_day = 2};
    auto first = quota.reserve("alice", limits, {}, at(1h));
    ASSERT_TRUE(first);
    first->end();
    EXPECT_TRUE(quota.reserve("alice", limits, {.runs = 1}, at(1h)));
    first->end();
    EXPECT_FALSE(quota.reserve("alice", limits, {.runs = 2}, at(1h)));
}

TEST(DailyQuota, CountsRunsThatAreToStart) {
    DailyQuota quota;
    const execution::PrincipalLimits limits{.runs_per_day = 2};
    {
        const auto first = quota.reserve("alice", limits, {}, at(1h));
        const auto second = quota.reserve("alice", limits, {}, at(1h));
        ASSERT_TRUE(first && second);
        EXPECT_FALSE(quota.reserve("alice", limits, {}, at(1h)));
        EXPECT_TRUE(quota.reserve("bob", limits, {}, at(1h)));
    }
    EXPECT_TRUE(quota.reserve("alice", limits, {}, at(1h)));
}

TEST(DailyQuota, RefusesWhoHasUsedItsCpuTime) {
    DailyQuota quota;
    const execution::PrincipalLimits limits{.cpu_seconds_per_day = 5};
    EXPECT_TRUE(quota.reserve("alice", limits, {.cpu = 4900ms}, at(1h)));
    EXPECT_FALSE(quota.reserve("alice", limits, {.cpu = 5s}, at(1h)));
}

TEST(DailyQuota, ZeroIsNoLimit) {
    DailyQuota quota;
    EXPECT_TRUE(quota.reserve("alice", {.runs_per_day = 0, .cpu_seconds_per_day = 0},
                              {.runs = 1'000'000, .cpu = 1000h}, at(1h)));
    EXPECT_TRUE(quota.reserve("alice", {}, {.runs = 1'000'000, .cpu = 1000h}, at(1h)));
}

}  // namespace
}  // namespace belljar::engine
