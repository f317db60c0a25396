#include "access/privileges.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belljar::access {
namespace {

constexpr std::uint32_t kFallback = 1'999'999'999;

TEST(FindAccount, TakesANumber) {
    const Account account = find_account("4242", kFallback).value();
    EXPECT_EQ(account.user, 4242U);
    EXPECT_EQ(account.group, 4242U);
}

TEST(FindAccount, TakesAName) {
    const passwd* nobody = ::getpwnam("nobody");
    ASSERT_NE(nobody, nullptr);
    const uid_t user = nobody->pw_uid;
    const gid_t group = nobody->pw_gid;
    const Account account = find_account("nobody", kFallback).value();
    EXPECT_EQ(account.user, user);
    EXPECT_EQ(account.group, group);
}

TEST(FindAccount, FallsBackWhenNothingIsSaidAndNoAccountExists) {
    const Account account = find_account("", kFallback).value();
    if (const passwd* own = ::getpwnam("belljar"); own != nullptr) {
        EXPECT_EQ(account.user, own->pw_uid);
    } else {
        EXPECT_EQ(account.user, kFallback);
        EXPECT_EQ(account.group, kFallback);
    }
}

TEST(FindAccount, NeverGivesRoot) {
    for (const std::string& name : {"root", "0", "00", "000000"}) {
        EXPECT_EQ(find_account(name, kFallback).error().code, ErrorCode::InvalidArgument) << name;
    }
}

TEST(FindAccount, RefusesWhatNamesNobody) {
    for (const std::string& name :
         {"no-such-account", "-1", "+1", "1x", " 1", "1 ", "4294967296", "99999999999", "1.5"}) {
        EXPECT_FALSE(find_account(name, kFallback)) << name;
    }
}

// The kernel takes this number for "leave it as it is".
TEST(FindAccount, RefusesTheNumberThatMeansNoChange) {
    EXPECT_FALSE(find_account("4294967295", kFallback));
}

// Runs in a child, because there is no way back.
int exit_code_after_drop(const Account& account) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (!drop_privileges(account)) {
            ::_exit(10);
        }
        const bool powerless = ::setuid(0) != 0 && ::geteuid() == account.user &&
                               ::getegid() == account.group && ::getgroups(0, nullptr) == 0 &&
                               ::prctl(PR_GET_NO_NEW_PRIVS, 0UL, 0UL, 0UL, 0UL) == 1 &&
                               ::open("/etc/shadow", O_RDONLY | O_CLOEXEC) < 0;
        ::_exit(powerless ? 0 : 11);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(DropPrivileges, LeavesNothing) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "dropping privileges needs root";
    }
    EXPECT_EQ(exit_code_after_drop({.user = kFallback, .group = kFallback}), 0);
}

TEST(DropPrivileges, FailsIfRootWouldStay) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "dropping privileges needs root";
    }
    EXPECT_EQ(exit_code_after_drop({.user = 0, .group = 0}), 10);
}

}  // namespace
}  // namespace belljar::access
