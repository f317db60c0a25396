#include "engine/pool_size.h"

#include <gtest/gtest.h>

namespace belljar::engine {
namespace {

TEST(PoolSize, DoublesWhenARunFindsNone) {
    PoolSize size(2, 10);
    EXPECT_EQ(size.wanted(), 2U);
    size.on_miss();
    EXPECT_EQ(size.wanted(), 4U);
    size.on_miss();
    size.on_miss();
    EXPECT_EQ(size.wanted(), 10U);
    size.on_miss();
    EXPECT_EQ(size.wanted(), 10U);
}

TEST(PoolSize, IsOneFewerAfterEachPeriodWithOneToSpare) {
    PoolSize size(2, 8);
    size.on_miss();
    size.on_miss();
    size.on_period(8);
    EXPECT_EQ(size.wanted(), 8U) << "a run found none in this period";
    size.on_period(8);
    EXPECT_EQ(size.wanted(), 7U);
    size.on_take(1);
    size.on_take(6);
    size.on_period(7);
    EXPECT_EQ(size.wanted(), 6U);
    size.on_take(0);
    size.on_period(6);
    EXPECT_EQ(size.wanted(), 6U) << "the last was taken, so it was needed";
    for (int period = 0; period < 20; ++period) {
        size.on_period(size.wanted());
    }
    EXPECT_EQ(size.wanted(), 2U);
}

TEST(PoolSize, StaysBelowTheMost) {
    PoolSize size(5, 3);
    EXPECT_EQ(size.wanted(), 3U);
    size.on_miss();
    EXPECT_EQ(size.wanted(), 3U);
}

}  // namespace
}  // namespace belljar::engine
