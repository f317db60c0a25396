#include "base/turns.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace belljar {
namespace {

TEST(Turns, StaysAnOrdinaryThreadWhoseThreadsAreOrdinaryToo) {
    std::thread([] {
        ask_for_short_turns();
        EXPECT_EQ(::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, SCHED_OTHER);
        EXPECT_NE(::sched_getscheduler(0) & SCHED_RESET_ON_FORK, 0);
        std::thread([] { EXPECT_EQ(::sched_getscheduler(0), SCHED_OTHER); }).join();
    }).join();
}

}  // namespace
}  // namespace belljar
