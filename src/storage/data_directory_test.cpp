#include "storage/data_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/id.h"

namespace belljar::storage {
namespace {

namespace fs = std::filesystem;

class DataDirectoryTest : public testing::Test {
   protected:
    void TearDown() override { fs::remove_all(base); }

    static mode_t mode_of(const fs::path& path) {
        struct stat status{};
        EXPECT_EQ(::stat(path.c_str(), &status), 0);
        return status.st_mode & 07777U;
    }

    fs::path base = fs::temp_directory_path() / ("belljar-test-" + random_hex(8));
    fs::path path = base / "data";
};

TEST_F(DataDirectoryTest, IsMadeForItsOwnerOnly) {
    const mode_t before = ::umask(0);
    const Result<DataDirectory> directory = DataDirectory::open(path);
    ::umask(before);
    ASSERT_TRUE(directory) << directory.error().describe();
    EXPECT_EQ(mode_of(path), 0700U);
    EXPECT_EQ(mode_of(path / "lock"), 0600U);
    EXPECT_EQ(directory->path(), path);
    EXPECT_NE(::fcntl(directory->fd().get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(DataDirectoryTest, CanBeUsedThroughItsDescriptor) {
    const DataDirectory directory = DataDirectory::open(path).value();
    const Fd file(
        ::openat(directory.fd().get(), "file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    EXPECT_TRUE(file.valid());
    EXPECT_TRUE(fs::exists(path / "file"));
}

TEST_F(DataDirectoryTest, KeepsWhatIsThere) {
    fs::create_directories(path);
    fs::permissions(path, fs::perms::owner_all | fs::perms::group_read);
    const Fd file(::open((path / "kept").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_TRUE(DataDirectory::open(path));
    EXPECT_TRUE(fs::exists(path / "kept"));
    EXPECT_EQ(mode_of(path), 0740U);
}

TEST_F(DataDirectoryTest, BelongsToOneServerAtATime) {
    Result<DataDirectory> first = DataDirectory::open(path);
    ASSERT_TRUE(first);
    const Result<DataDirectory> second = DataDirectory::open(path);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::Conflict);
    EXPECT_NE(second.error().message.find("--data-dir"), std::string::npos);
    first = fail(ErrorCode::Internal, "closed");
    EXPECT_TRUE(DataDirectory::open(path));
}

TEST_F(DataDirectoryTest, TheLockEndsWithTheProcessThatHeldIt) {
    const pid_t child = ::fork();
    if (child == 0) {
        const Result<DataDirectory> directory = DataDirectory::open(path);
        ::_exit(directory ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    EXPECT_TRUE(DataDirectory::open(path));
}

TEST_F(DataDirectoryTest, AMovedObjectKeepsTheLock) {
    Result<DataDirectory> first = DataDirectory::open(path);
    ASSERT_TRUE(first);
    const DataDirectory moved = std::move(*first);
    EXPECT_FALSE(DataDirectory::open(path));
    EXPECT_TRUE(moved.fd().valid());
}

TEST_F(DataDirectoryTest, SaysWhenItCannotBeMade) {
    fs::create_directories(base);
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_TRUE(file.valid());
    EXPECT_FALSE(DataDirectory::open(path));
    EXPECT_FALSE(DataDirectory::open(path / "below"));
    EXPECT_FALSE(DataDirectory::open("/proc/nowhere"));
    EXPECT_FALSE(DataDirectory::open(""));
}

TEST_F(DataDirectoryTest, FollowsNoLinkToItsLock) {
    fs::create_directories(path);
    fs::create_symlink(base / "elsewhere", path / "lock");
    const Result<DataDirectory> directory = DataDirectory::open(path);
    ASSERT_FALSE(directory);
    EXPECT_EQ(directory.error().sys_errno, ELOOP);
    EXPECT_FALSE(fs::exists(base / "elsewhere"));
}

TEST_F(DataDirectoryTest, CanBeGivenToTheServersAccount) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "changing an owner needs root";
    }
    const DataDirectory directory = DataDirectory::open(path).value();
    EXPECT_TRUE(directory.give_to(4242, 4243));
    struct stat status{};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, 4242U);
    EXPECT_EQ(status.st_gid, 4243U);
}

// An operator may point at any directory; only one of our own making changes hands.
TEST_F(DataDirectoryTest, ADirectoryThatWasThereKeepsItsOwner) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "changing an owner needs root";
    }
    fs::create_directories(path);
    const DataDirectory directory = DataDirectory::open(path).value();
    EXPECT_TRUE(directory.give_to(4242, 4243));
    struct stat status{};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, 0U);
}

}  // namespace
}  // namespace belljar::storage
