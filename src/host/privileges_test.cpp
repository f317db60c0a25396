#include "host/privileges.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace belljar::host {
namespace {

TEST(HostPrivileges, ReadsFullRoot) {
    const Privileges root = parse_privileges(
        "Name:\tx\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nNoNewPrivs:\t0\nSeccomp:\t0\n");
    EXPECT_EQ(root.effective_user, 0U);
    EXPECT_TRUE(root.has(Capability::SysAdmin));
    EXPECT_TRUE(root.has(Capability::NetAdmin));
    EXPECT_FALSE(root.no_new_privs);
    EXPECT_FALSE(root.filtered);
}

TEST(HostPrivileges, ReadsRootOfAContainer) {
    // The usual set of a container engine.
    const Privileges root = parse_privileges(
        "Uid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\nNoNewPrivs:\t0\nSeccomp:\t2\n");
    EXPECT_FALSE(root.has(Capability::SysAdmin));
    EXPECT_FALSE(root.has(Capability::NetAdmin));
    EXPECT_TRUE(root.has(Capability::SetUid));
    EXPECT_TRUE(root.has(Capability::Kill));
    EXPECT_TRUE(root.filtered);
}

TEST(HostPrivileges, TakesTheEffectiveUser) {
    const Privileges user = parse_privileges(
        "Uid:\t1000\t1001\t1002\t1003\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\n");
    EXPECT_EQ(user.effective_user, 1001U);
    EXPECT_EQ(user.effective, 0U);
    EXPECT_TRUE(user.no_new_privs);
}

TEST(HostPrivileges, AnUnreadableStatusGrantsNothing) {
    EXPECT_EQ(parse_privileges("").effective, 0U);
    EXPECT_EQ(parse_privileges("CapEff:\nUid:\nNoNewPrivs:").effective, 0U);
}

TEST(HostPrivileges, KnowsThisProcess) { EXPECT_EQ(read_privileges().effective_user, ::geteuid()); }

}  // namespace
}  // namespace belljar::host
