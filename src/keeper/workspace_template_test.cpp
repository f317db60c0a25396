#include "keeper/workspace_template.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "jar/workspace_image.h"

namespace belljar::keeper {
namespace {

namespace fs = std::filesystem;

class WorkspaceTemplateTest : public testing::Test {
   protected:
    void SetUp() override {
        if (::access("/dev/loop-control", R_OK | W_OK) != 0) {
            GTEST_SKIP() << "loop devices are needed";
        }
        std::string name = testing::TempDir() + "workspace-template-test-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        directory = name;
    }

    // No file and no process is left, whatever happened.
    void TearDown() override {
        EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
        if (!directory.empty()) {
            EXPECT_TRUE(fs::is_empty(directory));
            fs::remove_all(directory);
        }
    }

    [[nodiscard]] Fd make(Bytes size) const {
        return WorkspaceTemplate::start(directory, size).value().take().value();
    }

    // Of an image of the template, mounted where nobody else sees it.
    struct statfs status_when_mounted(const jar::WorkspaceImage& image) const {
        Pipe pipe = make_pipe().value();
        const std::string device = "/dev/loop" + std::to_string(image.minor);
        const pid_t child = ::fork();
        if (child == 0) {
            struct statfs status{};
            const bool read = ::unshare(CLONE_NEWNS) == 0 &&
                              ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                              ::mount(device.c_str(), directory.c_str(), "ext4", 0, nullptr) == 0 &&
                              ::statfs(directory.c_str(), &status) == 0;
            ::_exit(read && ::write(pipe.write_end.get(), &status, sizeof(status)) == sizeof(status)
                        ? 0
                        : 1);
        }
        int ended = -1;
        EXPECT_EQ(::waitpid(child, &ended, 0), child);
        EXPECT_EQ(ended, 0);
        struct statfs status{};
        EXPECT_EQ(::read(pipe.read_end.get(), &status, sizeof(status)), sizeof(status));
        return status;
    }

    fs::path directory;
};

TEST_F(WorkspaceTemplateTest, IsAFileSystemInAFileWithoutAName) {
    const Fd file = make(mebibytes(64));
    EXPECT_TRUE(fs::is_empty(directory));
    struct stat status{};
    ASSERT_EQ(::fstat(file.get(), &status), 0);
    EXPECT_EQ(status.st_size, 64 << 20);
    EXPECT_EQ(status.st_nlink, 0U);
    EXPECT_LT(status.st_blocks * 512, 1 << 20) << "what is empty takes no room";
    std::uint16_t magic = 0;
    ASSERT_EQ(::pread(file.get(), &magic, sizeof(magic), 1024 + 56), 2);
    EXPECT_EQ(magic, 0xEF53);
    EXPECT_EQ(::fcntl(file.get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(WorkspaceTemplateTest, ItsImagesCanBeMountedAndKeepNothingBack) {
    for (const Bytes size : {mebibytes(8), mebibytes(256), mebibytes(1024)}) {
        const Fd file = make(size);
        const jar::WorkspaceImage image =
            jar::make_workspace_image(jar::ImagePattern::read(file).value(), directory).value();
        const struct statfs status = status_when_mounted(image);
        const std::uint64_t room = status.f_bavail * static_cast<std::uint64_t>(status.f_bsize);
        // The kernel keeps two in a hundred for itself; mkfs would have kept five for root.
        EXPECT_GE(status.f_bavail, status.f_bfree / 100 * 97);
        EXPECT_GT(room, size.count * 9 / 10);
        EXPECT_LE(room, size.count);
        EXPECT_GE(status.f_ffree, size.count / 8192 / 2);
        EXPECT_LE(status.f_files, 300'000U);
    }
}

TEST_F(WorkspaceTemplateTest, OneThatIsNotTakenLeavesNoProcess) {
    const Result<WorkspaceTemplate> started = WorkspaceTemplate::start(directory, mebibytes(1024));
    EXPECT_TRUE(started);
}

TEST_F(WorkspaceTemplateTest, CanBeMovedAndTakenOnce) {
    Result<WorkspaceTemplate> started = WorkspaceTemplate::start(directory, mebibytes(16));
    ASSERT_TRUE(started);
    WorkspaceTemplate moved(std::move(*started));
    EXPECT_TRUE(moved.take());
    EXPECT_EQ(moved.take().error().sys_errno, ECHILD);
}

// Somebody else has ended and reaped mkfs: its number may be another's by now.
TEST_F(WorkspaceTemplateTest, WhoWasReapedElsewhereIsNotEndedAgain) {
    Result<WorkspaceTemplate> started = WorkspaceTemplate::start(directory, mebibytes(16));
    ASSERT_TRUE(started);
    ASSERT_GT(::waitpid(-1, nullptr, 0), 0);
    EXPECT_EQ(started->take().error().sys_errno, ECHILD);
}

TEST_F(WorkspaceTemplateTest, ASizeThatIsTooSmallIsAnError) {
    Result<WorkspaceTemplate> started = WorkspaceTemplate::start(directory, Bytes{4096});
    ASSERT_TRUE(started);
    EXPECT_EQ(started->take().error().sys_errno, EIO);
}

TEST_F(WorkspaceTemplateTest, APlaceThatDoesNotExistIsAnError) {
    EXPECT_EQ(WorkspaceTemplate::start(directory / "missing", mebibytes(16)).error().sys_errno,
              ENOENT);
}

}  // namespace
}  // namespace belljar::keeper
