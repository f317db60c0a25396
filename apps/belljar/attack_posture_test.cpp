#include "attack_posture.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/fd.h"

namespace belljar::apps {
namespace {

// A process that calls itself a jar's init, with a child: both as privileged as this test.
class AttackPostureTest : public testing::Test {
   protected:
    void SetUp() override {
        Result<Pipe> pipe = make_pipe();
        ASSERT_TRUE(pipe);
        init = ::fork();
        if (init == 0) {
            ::prctl(PR_SET_NAME, "belljar-jar");
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::fork() == 0) {
                ::prctl(PR_SET_NAME, "guest");
                ::prctl(PR_SET_PDEATHSIG, SIGKILL);
                [[maybe_unused]] const ssize_t count = ::write(pipe->write_end.get(), "x", 1);
            }
            ::pause();
            ::_exit(0);
        }
        char ready = 0;
        ASSERT_EQ(::read(pipe->read_end.get(), &ready, 1), 1);
        processes = list_descendants();
    }

    void TearDown() override {
        ::kill(init, SIGKILL);
        ::waitpid(init, nullptr, 0);
    }

    pid_t init = 0;
    std::vector<ProcessEntry> processes;
};

TEST_F(AttackPostureTest, ProcessLikeThisOneHasNotThePostureOfAJar) {
    ASSERT_EQ(processes.size(), 2U);
    EXPECT_NE(examine_posture(processes, {}), "");
}

TEST_F(AttackPostureTest, EveryMissingLayerDoesNotExcuseNewPrivileges) {
    const execution::Isolation nothing{
        .missing = {"namespaces", "unique_user", "no_capabilities", "seccomp"}};
    EXPECT_NE(examine_posture(processes, nothing), "");
}

TEST_F(AttackPostureTest, UserOfTheGuestIsSeen) {
    EXPECT_EQ(find_guest_user(processes), std::to_string(::getuid()));
}

TEST(AttackPosture, JarThatCannotBeSeenIsNotAsExpected) {
    EXPECT_NE(examine_posture({}, {}), "");
    EXPECT_EQ(find_guest_user({}), "");
}

TEST(AttackProcesses, StatusFieldsAreReadWhole) {
    const std::string status = "Name:\ta b\nUid:\t1\t2\t3\t4\nUidX:\t9\nGroups:\t \nEnd:\t5";
    EXPECT_EQ(status_field(status, "Name"), "a b");
    EXPECT_EQ(status_field(status, "Uid"), "1\t2\t3\t4");
    EXPECT_EQ(status_field(status, "Groups"), "");
    EXPECT_EQ(status_field(status, "End"), "5");
    EXPECT_EQ(status_field(status, "Absent"), "");
}

TEST(AttackProcesses, OwnMemoryIsKnown) {
    EXPECT_GT(own_memory("VmHWM"), 1U << 20U);
    EXPECT_EQ(own_memory("NoSuchField"), 0U);
}

TEST(AttackProcesses, WhatShrankDidNotGrow) {
    EXPECT_EQ(growth_since(100, 130), 30U);
    EXPECT_EQ(growth_since(130, 100), 0U);
}

}  // namespace
}  // namespace belljar::apps
