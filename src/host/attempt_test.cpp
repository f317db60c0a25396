#include "host/attempt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

namespace belljar::host {
namespace {

TEST(HostAttempt, ReportsWhatTheTrialReturned) {
    EXPECT_TRUE(attempt([] { return 0; }).worked());
    const Attempt refused = attempt([] { return EPERM; });
    EXPECT_FALSE(refused.worked());
    EXPECT_EQ(refused.sys_errno, EPERM);
    EXPECT_EQ(refused.signal, 0);
}

TEST(HostAttempt, ReportsTheSignalThatEndedTheChild) {
    const Attempt ended = attempt([] {
        ::raise(SIGSEGV);
        return 0;
    });
    EXPECT_FALSE(ended.worked());
    EXPECT_EQ(ended.signal, SIGSEGV);
}

TEST(HostAttempt, LeavesThisProcessAsItIs) {
    const std::filesystem::path before = std::filesystem::current_path();
    EXPECT_TRUE(attempt([] { return errno_of(::chdir("/proc")); }).worked());
    EXPECT_EQ(std::filesystem::current_path(), before);
}

TEST(HostAttempt, ErrnoOfTellsSuccessFromFailure) {
    EXPECT_EQ(errno_of(0), 0);
    EXPECT_EQ(errno_of(7), 0);
    errno = ENOSYS;
    EXPECT_EQ(errno_of(-1), ENOSYS);
}

}  // namespace
}  // namespace belljar::host
