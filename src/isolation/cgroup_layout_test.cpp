#include "isolation/cgroup_layout.h"

#include <gtest/gtest.h>

namespace belljar::isolation {
namespace {

using Version = Hierarchy::Version;
using Names = std::vector<std::string>;

constexpr std::string_view kOtherMounts =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "23 22 0:21 / /proc rw,nosuid shared:12 - proc proc rw\n";

std::vector<Hierarchy> layout(std::string_view mounts, std::string_view membership) {
    return parse_layout(std::string(kOtherMounts) + std::string(mounts), membership);
}

TEST(CgroupLayout, PureVersionTwo) {
    const auto found =
        layout("35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
               "0::/user.slice/user-1000.slice/session-2.scope\n");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].version, Version::Two);
    EXPECT_EQ(found[0].own_directory, "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope");
    EXPECT_EQ(describe_layout(found), "v2");
}

TEST(CgroupLayout, VersionTwoAtItsRoot) {
    const auto found = layout("35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/\n");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].own_directory, "/sys/fs/cgroup");
}

TEST(CgroupLayout, PureVersionOne) {
    const auto found = layout(
        "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
        "33 31 0:30 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
        "34 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
        "35 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
        "36 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n",
        "9:name=systemd:/a\n8:pids:/p\n4:memory:/m/deep\n3:cpuset:/s\n1:cpu:/\n");
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].controllers, Names{"cpu"});
    EXPECT_EQ(found[0].own_directory, "/sys/fs/cgroup/cpu");
    EXPECT_EQ(found[1].controllers, Names{"memory"});
    EXPECT_EQ(found[1].own_directory, "/sys/fs/cgroup/memory/m/deep");
    EXPECT_EQ(found[2].controllers, Names{"pids"});
    EXPECT_EQ(found[2].own_directory, "/sys/fs/cgroup/pids/p");
    EXPECT_EQ(describe_layout(found), "v1");
}

TEST(CgroupLayout, Hybrid) {
    const auto found = layout(
        "34 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        "4:memory:/m\n0::/u\n");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].version, Version::One);
    EXPECT_EQ(found[1].version, Version::Two);
    EXPECT_EQ(found[1].own_directory, "/sys/fs/cgroup/unified/u");
    EXPECT_TRUE(found[1].controllers.empty());
    EXPECT_EQ(describe_layout(found), "hybrid");
}

TEST(CgroupLayout, ControllersMountedTogether) {
    const auto found =
        layout("32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n",
               "2:cpu,cpuacct:/docker/abc\n");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].controllers, (Names{"cpu", "cpuacct"}));
    EXPECT_EQ(found[0].own_directory, "/sys/fs/cgroup/cpu,cpuacct/docker/abc");
    EXPECT_TRUE(found[0].has("cpu"));
    EXPECT_TRUE(found[0].has("cpuacct"));
    EXPECT_FALSE(found[0].has("memory"));
    EXPECT_FALSE(found[0].has(""));
}

TEST(CgroupLayout, AContainerSeesItsOwnPartAsTheMount) {
    const auto found = layout(
        "32 31 0:29 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
        "33 31 0:30 /docker/abc /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n"
        "34 31 0:31 /docker/abc /sys/fs/cgroup/unified ro - cgroup2 cgroup rw\n",
        "4:memory:/docker/abc\n3:pids:/docker/abc/init.scope\n0::/docker/abc/a/b\n");
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].own_directory, "/sys/fs/cgroup/memory");
    EXPECT_EQ(found[1].own_directory, "/sys/fs/cgroup/pids/init.scope");
    EXPECT_EQ(found[2].own_directory, "/sys/fs/cgroup/unified/a/b");
}

TEST(CgroupLayout, AMountRootEndsAtTheBorderOfAName) {
    const auto found =
        layout("32 31 0:29 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
               "4:memory:/docker/abcdef\n");
    if (!found.empty()) {
        EXPECT_EQ(found[0].own_directory, "/sys/fs/cgroup/memory");
    }
}

TEST(CgroupLayout, MountPointsWithSpacesAreDecoded) {
    const auto found =
        layout("35 24 0:30 / /mnt/my\\040cgroup rw - cgroup2 cgroup2 rw\n", "0::/a b\n");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].own_directory, "/mnt/my cgroup/a b");
}

TEST(CgroupLayout, PathsMayHoldColons) {
    const auto found =
        layout("35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/a:b/c.service\n");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].own_directory, "/sys/fs/cgroup/a:b/c.service");
}

TEST(CgroupLayout, OptionalFieldsMayBeAbsentOrMany) {
    const auto found = layout(
        "32 31 0:29 / /cg/memory rw shared:5 master:1 propagate_from:2 - cgroup c rw,memory\n"
        "33 31 0:30 / /cg/pids rw - cgroup c rw,pids\n",
        "4:memory:/\n3:pids:/\n");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].own_directory, "/cg/memory");
    EXPECT_EQ(found[1].own_directory, "/cg/pids");
}

TEST(CgroupLayout, LeavesOutWhatTheProcessIsNotIn) {
    EXPECT_TRUE(layout("32 31 0:29 / /cg/memory rw - cgroup c rw,memory\n"
                       "35 24 0:30 / /cg/unified rw - cgroup2 c rw\n",
                       "3:pids:/\n")
                    .empty());
}

TEST(CgroupLayout, NothingAndNonsenseGiveNothing) {
    EXPECT_TRUE(parse_layout("", "").empty());
    EXPECT_EQ(describe_layout({}), "none");
    for (const std::string_view text :
         {"\n\n\n", "-", " - ", "a b c d e f - ", "a b c d e f - cgroup", "a - cgroup2 x rw",
          "a b c d e f - cgroup c", "::::", " - cgroup2 cgroup2 rw"}) {
        EXPECT_TRUE(parse_layout(text, "0::/\n1:memory:/\n").empty()) << text;
    }
    EXPECT_TRUE(
        layout("32 31 0:29 / /cg/memory rw - cgroup c rw,memory\n", "memory\n:\nx").empty());
}

TEST(CgroupLayout, ThisHostCanBeRead) {
    const Result<std::vector<Hierarchy>> found = read_layout();
    ASSERT_TRUE(found);
    for (const Hierarchy& hierarchy : *found) {
        EXPECT_TRUE(hierarchy.own_directory.starts_with('/'));
        EXPECT_FALSE(hierarchy.own_directory.ends_with('/'));
    }
}

}  // namespace
}  // namespace belljar::isolation
