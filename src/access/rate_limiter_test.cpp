#include "access/rate_limiter.h"

#include <gtest/gtest.h>

namespace belljar::access {
namespace {

using namespace std::chrono_literals;

Caller caller(const std::string& name) { return {.principal = name}; }

int taken(RateLimiter& limiter, const Caller& who, TimePoint now, int tries) {
    int count = 0;
    for (int index = 0; index < tries; ++index) {
        count += limiter.take(who, now).retry_after ? 0 : 1;
    }
    return count;
}

TEST(RateLimiter, WithoutRulesLetsEverythingThrough) {
    RateLimiter limiter({});
    EXPECT_EQ(taken(limiter, caller("a"), TimePoint{}, 1000), 1000);
    EXPECT_TRUE(rate_headers(limiter.take(caller("a"), TimePoint{})).empty());
    EXPECT_FALSE(limiter.take_unknown("127.0.0.1", TimePoint{}).retry_after);
    EXPECT_EQ(limiter.refused(), 0U);
}

TEST(RateLimiter, GivesABurstAndThenTheRate) {
    RateLimiter limiter({.each = {.per_minute = 60, .burst = 5}});
    const TimePoint begin{1h};
    EXPECT_EQ(taken(limiter, caller("a"), begin, 20), 5);
    EXPECT_EQ(taken(limiter, caller("a"), begin + 3s, 20), 3);
    EXPECT_EQ(taken(limiter, caller("a"), begin + 1h, 20), 5);
    EXPECT_EQ(limiter.refused(), 15U + 17U + 15U);
}

TEST(RateLimiter, SaysWhenToTryAgain) {
    RateLimiter limiter({.each = {.per_minute = 6, .burst = 2}});
    const TimePoint begin{1h};
    const auto first = rate_headers(limiter.take(caller("a"), begin));
    EXPECT_EQ(first.at(0),
              (std::pair<std::string, std::string>("RateLimit-Policy", "\"principal\";q=6;w=60")));
    EXPECT_EQ(first.at(1),
              (std::pair<std::string, std::string>("RateLimit", "\"principal\";r=1;t=10")));
    EXPECT_EQ(taken(limiter, caller("a"), begin, 1), 1);
    const auto refused = limiter.take(caller("a"), begin + 4s);
    EXPECT_EQ(refused.retry_after, 6s);
    const HttpResponse answer = refuse_rate(refused);
    EXPECT_EQ(answer.status, 429U);
    EXPECT_EQ(answer.headers.back(), (std::pair<std::string, std::string>("Retry-After", "6")));
}

TEST(RateLimiter, KeepsPrincipalsApart) {
    RateLimiter limiter({.each = {.per_minute = 60, .burst = 5}});
    EXPECT_EQ(taken(limiter, caller("noisy"), TimePoint{}, 1000), 5);
    EXPECT_EQ(taken(limiter, caller("quiet"), TimePoint{}, 5), 5);
}

TEST(RateLimiter, RefusedRequestsTakeNothingOfWhatAllHave) {
    RateLimiter limiter(
        {.each = {.per_minute = 60, .burst = 5}, .all = {.per_minute = 60, .burst = 8}});
    EXPECT_EQ(taken(limiter, caller("noisy"), TimePoint{}, 1000), 5);
    EXPECT_EQ(taken(limiter, caller("quiet"), TimePoint{}, 5), 3);
    // What the common bucket refused is not counted against the principal.
    const auto standing = limiter.look(caller("quiet"), TimePoint{}).standing;
    ASSERT_TRUE(standing);
    EXPECT_EQ(standing->remaining, 2U);
}

TEST(RateLimiter, ATokenMayHaveItsOwnRate) {
    RateLimiter limiter({.each = {.per_minute = 60, .burst = 5}});
    const Caller slow{.principal = "slow", .limits = {.requests_per_minute = 2}};
    const Caller free{.principal = "free", .limits = {.requests_per_minute = 0}};
    EXPECT_EQ(taken(limiter, slow, TimePoint{}, 100), 2);
    EXPECT_EQ(taken(limiter, free, TimePoint{}, 100), 100);
}

TEST(RateLimiter, SlowsAddressesAndNotTheirNeighbours) {
    RateLimiter limiter({.unknown = {.per_minute = 60, .burst = 3}});
    for (int index = 0; index < 3; ++index) {
        EXPECT_FALSE(limiter.take_unknown("10.0.0.1", TimePoint{}).retry_after);
    }
    EXPECT_TRUE(limiter.take_unknown("10.0.0.1", TimePoint{}).retry_after);
    EXPECT_FALSE(limiter.take_unknown("10.0.0.2", TimePoint{}).retry_after);
}

TEST(RateLimiter, TakesAnIpv6NetworkForOne) {
    EXPECT_EQ(rate_key("2001:db8:1:2::1"), rate_key("2001:db8:1:2:ffff::9"));
    EXPECT_NE(rate_key("2001:db8:1:2::1"), rate_key("2001:db8:1:3::1"));
    EXPECT_EQ(rate_key("::ffff:10.1.2.3"), "10.1.2.3");
    EXPECT_EQ(rate_key("10.1.2.3"), "10.1.2.3");
    EXPECT_EQ(rate_key("unix"), "unix");
}

TEST(RateLimiter, ForgetsTheBucketThatWasUnusedForLongest) {
    RateLimiter limiter({.each = {.per_minute = 1, .burst = 1}}, 2);
    EXPECT_EQ(taken(limiter, caller("a"), TimePoint{}, 1), 1);
    EXPECT_EQ(taken(limiter, caller("b"), TimePoint{}, 1), 1);
    EXPECT_EQ(taken(limiter, caller("a"), TimePoint{}, 1), 0);
    EXPECT_EQ(taken(limiter, caller("c"), TimePoint{}, 1), 1);  // in the place of b
    EXPECT_EQ(taken(limiter, caller("a"), TimePoint{}, 1), 0);
    EXPECT_EQ(taken(limiter, caller("b"), TimePoint{}, 1), 1);
}

}  // namespace
}  // namespace belljar::access
