#include "jar/fill.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belljar::jar {
namespace {

constexpr std::uint64_t kSize = 1U << 20U;

Fill fill_of_directory(const char* path) {
    return fill_of(Fd(::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
}

// In a mount namespace of its own; the number of the expectation that failed.
int fill_a_file_system() {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", "", MS_REC | MS_PRIVATE, "") != 0 ||
        ::mount("none", "/tmp", "tmpfs", 0, "size=1m") != 0) {
        return 1;
    }
    const Fill empty = fill_of_directory("/tmp");
    if (empty.used != 0 || empty.full) {
        return 2;
    }
    const Fd file(::open("/tmp/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (::posix_fallocate(file.get(), 0, kSize / 2) != 0) {
        return 3;
    }
    const Fill half = fill_of_directory("/tmp");
    if (half.used != kSize / 2 || half.full) {
        return 4;
    }
    if (::posix_fallocate(file.get(), 0, kSize) != 0) {
        return 5;
    }
    const Fill whole = fill_of_directory("/tmp");
    return whole.used == kSize && whole.full ? 0 : 6;
}

TEST(Fill, SaysWhatIsUsedAndWhetherNothingIsLeft) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root mounts a file system";
    }
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(fill_a_file_system());
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Fill, OfNothingIsNothing) {
    const Fill fill = fill_of(Fd());
    EXPECT_EQ(fill.used, 0U);
    EXPECT_FALSE(fill.full);
}

}  // namespace
}  // namespace belljar::jar
