#include "jar/process_state.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace belljar::jar {
namespace {

// A child that has ended and was not waited for.
pid_t ended_child(const std::function<void()>& end) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::prctl(PR_SET_NAME, "a) Z 1 (2 3", 0UL, 0UL, 0UL);
        end();
    }
    siginfo_t information{};
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(child), &information, WEXITED | WNOWAIT), 0);
    return child;
}

TEST(ProcessState, OfOneThatRuns) {
    const ProcessState state = read_process_state(::getpid()).value();
    EXPECT_EQ(state.sight, ProcessState::Sight::Clear);
    EXPECT_FALSE(state.ending);
    EXPECT_EQ(state.threads, 1U);
    EXPECT_EQ(state.wait_status, 0);
}

TEST(ProcessState, IsTheStatusThatAWaitGives) {
    for (const std::function<void()>& end :
         {std::function<void()>([] { ::_exit(0); }), std::function<void()>([] { ::_exit(7); }),
          std::function<void()>([] { ::kill(::getpid(), SIGKILL); })}) {
        const pid_t child = ended_child(end);
        const ProcessState state = read_process_state(child).value();
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(state.ending);
        EXPECT_EQ(state.threads, 1U);
        EXPECT_EQ(state.wait_status, status);
        EXPECT_EQ(state.sight, ProcessState::Sight::NoMemory);
    }
}

TEST(ProcessState, OfNobody) {
    const pid_t child = ended_child([] { ::_exit(0); });
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_FALSE(read_process_state(child));
}

}  // namespace
}  // namespace belljar::jar
