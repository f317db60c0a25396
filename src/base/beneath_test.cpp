#include "base/beneath.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace belljar {
namespace {

class BeneathTest : public ::testing::Test {
   protected:
    void SetUp() override {
        std::string name = ::testing::TempDir() + "beneath-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        top = name;
        std::filesystem::create_directory(top / "root");
        std::ofstream(top / "outside") << "secret";
        root = Fd(::open((top / "root").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    void TearDown() override { std::filesystem::remove_all(top); }

    [[nodiscard]] int error_of(const std::string& path) const {
        const Result<Fd> opened = open_beneath(root, path, O_RDONLY);
        return opened ? 0 : opened.error().sys_errno;
    }

    std::filesystem::path top;
    Fd root;
};

TEST(PlainPath, IsRelativeAndOrdinary) {
    for (const char* path : {"a", "a/b", ".hidden", "a..b", "ü/名前", "a b", "..."}) {
        EXPECT_TRUE(is_plain_path(path)) << path;
    }
    for (const std::string& path :
         {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"),
          std::string("."), std::string("../a"), std::string("a/../b"), std::string("a/."),
          std::string("a\nb"), std::string("a\0b", 3), std::string("\xff"), std::string("\x7f"),
          std::string(256, 'a'), std::string(kLongestPath + 1, 'a')}) {
        EXPECT_FALSE(is_plain_path(path)) << path;
    }
}

TEST(PlainPath, IsNotTooDeep) {
    std::string path = "a";
    for (std::size_t names = 1; names < kDeepestPath; ++names) {
        path += "/a";
    }
    EXPECT_TRUE(is_plain_path(path));
    EXPECT_FALSE(is_plain_path(path + "/a"));
}

TEST_F(BeneathTest, FollowsNoLink) {
    std::filesystem::create_symlink(top / "outside", top / "root/link");
    std::filesystem::create_directory_symlink(top, top / "root/directory");
    std::filesystem::create_symlink("/proc/self/root", top / "root/magic");
    EXPECT_EQ(error_of("link"), ELOOP);
    EXPECT_EQ(error_of("directory/outside"), ELOOP);
    EXPECT_EQ(error_of("magic/etc/passwd"), ELOOP);
}

TEST_F(BeneathTest, StaysBelowItsRoot) {
    EXPECT_EQ(error_of("../outside"), EXDEV);
    EXPECT_EQ(error_of("/etc/passwd"), EXDEV);
}

TEST_F(BeneathTest, DoesNotWaitForTheOtherEndOfAPipe) {
    ASSERT_EQ(::mkfifo((top / "root/pipe").c_str(), 0600), 0);
    EXPECT_EQ(error_of("pipe"), 0);
}

TEST_F(BeneathTest, MakesDirectoriesOnlyIfTold) {
    EXPECT_FALSE(find_place(root, "a/b/c", Parents::Expected));
    const Result<Place> place = find_place(root, "a/b/c", Parents::Made);
    ASSERT_TRUE(place);
    EXPECT_EQ(place->name, "c");
    EXPECT_TRUE(std::filesystem::is_directory(top / "root/a/b"));
    EXPECT_FALSE(std::filesystem::exists(top / "root/a/b/c"));
}

TEST_F(BeneathTest, MakesNoDirectoryThroughALink) {
    std::filesystem::create_directory_symlink(top, top / "root/link");
    EXPECT_FALSE(find_place(root, "link/made/c", Parents::Made));
    EXPECT_FALSE(std::filesystem::exists(top / "made"));
}

}  // namespace
}  // namespace belljar
