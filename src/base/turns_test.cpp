#include "base/turns.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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

TEST(Turns, WhoEndsStaysAnOrdinaryProcess) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    let_others_go_first(child);
    EXPECT_EQ(::sched_getscheduler(child) & ~SCHED_RESET_ON_FORK, SCHED_OTHER);
    EXPECT_EQ(::kill(child, SIGKILL), 0);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace belljar
