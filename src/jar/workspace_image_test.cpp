#include "jar/workspace_image.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/loop.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>

#include "base/clock.h"

namespace belljar::jar {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kSize = mebibytes(16);
constexpr const char* kMkfs = "/usr/sbin/mkfs.ext4";

bool make_file_system(const Fd& file) {
    const pid_t child = ::fork();
    if (child == 0) {
        const std::string path = "/proc/self/fd/" + std::to_string(file.get());
        ::fcntl(file.get(), F_SETFD, 0);
        ::execl(kMkfs, "mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "^has_journal", "-m", "0",
                path.c_str(), nullptr);
        ::_exit(127);
    }
    int status = -1;
    return ::waitpid(child, &status, 0) == child && status == 0;
}

std::uint64_t backing_inode(const Fd& device) {
    loop_info64 info{};
    return ::ioctl(device.get(), LOOP_GET_STATUS64, &info) == 0 ? info.lo_inode : 0;
}

std::string device_path(const WorkspaceImage& image) {
    return "/dev/loop" + std::to_string(image.minor);
}

class WorkspaceImageTest : public testing::Test {
   protected:
    void SetUp() override {
        if (::access("/dev/loop-control", R_OK | W_OK) != 0 || ::access(kMkfs, X_OK) != 0) {
            GTEST_SKIP() << "loop devices and mkfs.ext4 are needed";
        }
        std::string name = testing::TempDir() + "workspace-image-test-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        directory = name;
        pattern = make_nameless_file(directory, kSize).value();
        ASSERT_TRUE(make_file_system(pattern));
    }

    void TearDown() override {
        if (!directory.empty()) {
            EXPECT_TRUE(fs::is_empty(directory)) << "an image has no name";
            fs::remove_all(directory);
        }
    }

    [[nodiscard]] WorkspaceImage make_image() const {
        return make_workspace_image(ImagePattern::read(pattern).value(), directory).value();
    }

    // What `act` returns with the image mounted at the directory, where only `act` can see it.
    [[nodiscard]] int mounted(const WorkspaceImage& image, const std::function<int()>& act) const {
        const pid_t child = ::fork();
        if (child == 0) {
            const bool attached =
                ::unshare(CLONE_NEWNS) == 0 &&
                ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                ::mount(device_path(image).c_str(), directory.c_str(), "ext4", 0, nullptr) == 0;
            ::_exit(attached ? act() : 200);
        }
        int status = -1;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    fs::path directory;
    Fd pattern;
};

// Another file may be on the device soon after: the one of `inode` is not.
bool is_cleared(const std::string& device, std::uint64_t inode) {
    const TimePoint deadline = Clock::now() + std::chrono::seconds(20);
    while (Clock::now() < deadline) {
        if (backing_inode(Fd(::open(device.c_str(), O_RDONLY | O_CLOEXEC))) != inode) {
            return true;
        }
        ::usleep(2000);
    }
    return false;
}

TEST_F(WorkspaceImageTest, AFileWithoutANameTakesNoRoom) {
    const Fd file = make_nameless_file(directory, kSize).value();
    struct stat status{};
    ASSERT_EQ(::fstat(file.get(), &status), 0);
    EXPECT_EQ(status.st_size, static_cast<off_t>(kSize.count));
    EXPECT_EQ(status.st_blocks, 0);
    EXPECT_EQ(status.st_nlink, 0U);
    EXPECT_EQ(status.st_mode & 07777, 0600U);
    EXPECT_EQ(::fcntl(file.get(), F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(make_nameless_file(directory / "missing", kSize).error().sys_errno, ENOENT);
}

TEST_F(WorkspaceImageTest, IsACopyOfThePattern) {
    const WorkspaceImage image = make_image();
    const Fd device(::open(device_path(image).c_str(), O_RDONLY | O_CLOEXEC));
    const Bytes limit{kSize.count + 1};
    ASSERT_EQ(::lseek(pattern.get(), 0, SEEK_SET), 0);
    EXPECT_TRUE(read_all(device, limit).value() == read_all(pattern, limit).value());
}

// Writes until nothing more fits; the number of mebibytes, or 100 if it was not the room.
int fill(const fs::path& path) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const std::string block(1U << 20U, 'f');
    for (int count = 0; count < 100; ++count) {
        if (const Result<void> written = write_all(file, block); !written) {
            return written.error().sys_errno == ENOSPC ? count : 100;
        }
    }
    return 100;
}

TEST_F(WorkspaceImageTest, WhoWritesMoreThanFitsIsRefused) {
    const WorkspaceImage image = make_image();
    const int written = mounted(image, [this] { return fill(directory / "file"); });
    EXPECT_GE(written, 12);
    EXPECT_LT(written, 16);
    const int more = mounted(image, [this] { return fill(directory / "other"); });
    EXPECT_EQ(more, 0) << "what was written is still there";
}

TEST_F(WorkspaceImageTest, OneImageHasNothingOfAnother) {
    const WorkspaceImage first = make_image();
    const WorkspaceImage second = make_image();
    EXPECT_NE(first.minor, second.minor);
    EXPECT_LT(mounted(first, [this] { return fill(directory / "file"); }), 16);
    EXPECT_EQ(mounted(second, [this] { return fs::exists(directory / "file") ? 1 : 0; }), 0);
    EXPECT_EQ(mounted(first, [this] { return fs::exists(directory / "file") ? 1 : 0; }), 1);
    const WorkspaceImage third = make_image();
    EXPECT_EQ(mounted(third, [this] { return fs::exists(directory / "file") ? 1 : 0; }), 0)
        << "the pattern was not written to";
}

TEST_F(WorkspaceImageTest, TheDeviceIsFreeWhenTheImageIsClosed) {
    WorkspaceImage image = make_image();
    const std::string device = device_path(image);
    const std::uint64_t inode = backing_inode(image.device);
    EXPECT_NE(inode, 0U);
    image.device.reset();
    EXPECT_TRUE(is_cleared(device, inode));
}

// The jar's mount holds on to the device, whatever the warden does with its own descriptor.
TEST_F(WorkspaceImageTest, TheDeviceIsFreeWhenTheLastMountIsGone) {
    WorkspaceImage image = make_image();
    const std::string device = device_path(image);
    const std::uint64_t inode = backing_inode(image.device);
    Pipe go = make_pipe().value();
    Pipe mounted_now = make_pipe().value();
    const pid_t jar = ::fork();
    if (jar == 0) {
        go.write_end.reset();
        image.device.reset();  // the test still has it
        ::_exit(mounted(image, [&] {
            char byte = 0;
            const bool told = ::write(mounted_now.write_end.get(), "m", 1) == 1;
            const bool continued = ::read(go.read_end.get(), &byte, 1) == 0;
            return told && continued ? fill(directory / "file") : 100;
        }));
    }
    char byte = 0;
    ASSERT_EQ(::read(mounted_now.read_end.get(), &byte, 1), 1);
    image.device.reset();
    {
        const Fd opened(::open(device.c_str(), O_RDONLY | O_CLOEXEC));
        EXPECT_EQ(backing_inode(opened), inode);
    }
    go.write_end.reset();
    int status = -1;
    ASSERT_EQ(::waitpid(jar, &status, 0), jar);
    EXPECT_GE(WEXITSTATUS(status), 12);
    EXPECT_LT(WEXITSTATUS(status), 16);
    EXPECT_TRUE(is_cleared(device, inode));
}

TEST_F(WorkspaceImageTest, WhatIsReadOnlyCannotBeMountedForWriting) {
    const WorkspaceImage image = attach_loop(pattern, LoopAccess::ReadOnly).value();
    loop_info64 info{};
    ASSERT_EQ(::ioctl(image.device.get(), LOOP_GET_STATUS64, &info), 0);
    EXPECT_NE(info.lo_flags & LO_FLAGS_READ_ONLY, 0U);
    EXPECT_NE(info.lo_flags & LO_FLAGS_AUTOCLEAR, 0U);
    EXPECT_EQ(mounted(image, [] { return 0; }), 200);
}

TEST_F(WorkspaceImageTest, WhatCannotBeCopiedIsAnError) {
    EXPECT_EQ(ImagePattern::read(Fd()).error().sys_errno, EBADF);
    const Fd write_only(::open(directory.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));
    if (write_only.valid()) {
        ASSERT_TRUE(write_all(write_only, "content"));
        EXPECT_EQ(ImagePattern::read(write_only).error().sys_errno, EBADF);
    }
    EXPECT_EQ(make_workspace_image(ImagePattern::read(pattern).value(), directory / "missing")
                  .error()
                  .sys_errno,
              ENOENT);
    EXPECT_FALSE(attach_loop(Fd(), LoopAccess::ReadWrite));
}

}  // namespace
}  // namespace belljar::jar
