#include "host/file_systems.h"

#include <gtest/gtest.h>

namespace belljar::host {
namespace {

TEST(HostFileSystems, ParsesTheKernelsList) {
    EXPECT_EQ(parse_file_systems("nodev\tproc\nnodev\toverlay\n\text4\n\n"),
              (std::vector<std::string>{"proc", "overlay", "ext4"}));
    EXPECT_TRUE(parse_file_systems("").empty());
}

TEST(HostFileSystems, LooksNamesUpWhole) {
    const FileSystems systems{.known = {"fuseblk", "ext4"}};
    EXPECT_TRUE(systems.has("ext4"));
    EXPECT_FALSE(systems.has("fuse"));
}

TEST(HostFileSystems, FindsModulesWhateverTheirEnding) {
    constexpr std::string_view kListing =
        "kernel/fs/quota/quota_tree.ko.zst:\n"
        "kernel/fs/quota/quota_v2.ko.zst: kernel/fs/quota/quota_tree.ko.zst\n"
        "kernel/fs/quota/quota_v1.ko\n";
    EXPECT_EQ(modules_in(kListing, {"quota_v1", "quota_v2"}),
              (std::vector<std::string>{"quota_v1", "quota_v2"}));
    EXPECT_TRUE(modules_in(kListing, {"quota"}).empty());
    EXPECT_TRUE(modules_in("", {"quota_v2"}).empty());
}

TEST(HostFileSystems, KnowsProcHere) { EXPECT_TRUE(read_file_systems().has("proc")); }

}  // namespace
}  // namespace belljar::host
