#include "jar/scratch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/id.h"

namespace belljar::jar {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kSomebody = 1'900'000'002;

Fd open_directory(const fs::path& path) {
    return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

void write_file(const fs::path& path) { std::ofstream(path) << "content"; }

bool is_empty(const Fd& directory) {
    return fs::is_empty("/proc/self/fd/" + std::to_string(directory.get()));
}

// A directory in a directory in a directory: too deep for any path.
void make_deep_tree(const Fd& top, int levels, const char* name) {
    Fd here(::openat(top.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int level = 0; level < levels; ++level) {
        ASSERT_EQ(::mkdirat(here.get(), name, 0700), 0) << level;
        here = Fd(::openat(here.get(), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        ASSERT_TRUE(here.valid());
    }
}

// Runs `act` without the rights of root; whether it returned true.
template <typename Act>
bool as_somebody(Act act) {
    const pid_t child = ::fork();
    if (child == 0) {
        const bool changed =
            ::geteuid() != 0 || (::setresgid(kSomebody, kSomebody, kSomebody) == 0 &&
                                 ::setresuid(kSomebody, kSomebody, kSomebody) == 0);
        ::_exit(changed && act() ? 0 : 1);
    }
    int status = -1;
    return ::waitpid(child, &status, 0) == child && status == 0;
}

// Two directories of one parent: the content of the first is removed, the second must stay as it
// is. Both belong to a user who is not root.
class ScratchContentTest : public testing::Test {
   protected:
    void SetUp() override {
        parent = fs::path(testing::TempDir()) / ("scratch-test-" + random_hex(4));
        inside = parent / "inside";
        outside = parent / "outside";
        fs::create_directories(inside);
        fs::create_directories(outside / "directory");
        write_file(outside / "file");
        write_file(outside / "directory" / "file");
        if (::geteuid() == 0) {
            ASSERT_EQ(::chown(inside.c_str(), kSomebody, kSomebody), 0);
        }
        top = open_directory(inside);
        ASSERT_TRUE(top.valid());
    }

    void TearDown() override {
        EXPECT_TRUE(is_empty(top));
        EXPECT_TRUE(fs::exists(outside / "file"));
        EXPECT_TRUE(fs::exists(outside / "directory" / "file"));
        fs::remove_all(parent);
    }

    fs::path parent;
    fs::path inside;
    fs::path outside;
    Fd top;
};

TEST_F(ScratchContentTest, NothingIsRemovedFromNothing) { EXPECT_TRUE(remove_content(top)); }

TEST_F(ScratchContentTest, RemovesEveryKindOfFile) {
    write_file(inside / "file");
    write_file(inside / ".hidden");
    fs::create_directories(inside / "one" / "two" / "three");
    write_file(inside / "one" / "two" / "file");
    fs::create_hard_link(inside / "file", inside / "one" / "link");
    ASSERT_EQ(::mkfifo((inside / "fifo").c_str(), 0), 0);
    ASSERT_EQ(::mknod((inside / "socket").c_str(), S_IFSOCK | 0600, 0), 0);
    EXPECT_TRUE(remove_content(top));
}

TEST_F(ScratchContentTest, FollowsNoLink) {
    fs::create_directory(inside / "directory");
    fs::create_symlink(outside, inside / "link");
    fs::create_symlink(outside / "file", inside / "directory" / "link");
    fs::create_symlink("../../outside", inside / "directory" / "relative");
    fs::create_symlink(".", inside / "directory" / "loop");
    fs::create_symlink("/nowhere", inside / "directory" / "dangling");
    fs::create_hard_link(outside / "file", inside / "directory" / "hard");
    EXPECT_TRUE(remove_content(top));
}

TEST_F(ScratchContentTest, RemovesADeepTree) {
    make_deep_tree(top, 5000, "d");
    make_deep_tree(top, 300, std::string(255, 'd').c_str());
    EXPECT_TRUE(remove_content(top));
}

TEST_F(ScratchContentTest, RemovesManyFilesAndDirectories) {
    for (int number = 0; number < 10'000; ++number) {
        const std::string name = "file-" + std::to_string(number);
        ASSERT_EQ(::mknodat(top.get(), name.c_str(), S_IFREG | 0600, 0), 0);
    }
    for (int number = 0; number < 1000; ++number) {
        fs::create_directories(inside / std::to_string(number) / "a" / "b");
    }
    EXPECT_TRUE(remove_content(top));
}

// However few at a time, until nothing is left.
TEST_F(ScratchContentTest, RemovesSomeAtATime) {
    for (int number = 0; number < 25; ++number) {
        write_file(inside / ("file-" + std::to_string(number)));
    }
    make_deep_tree(top, 20, "d");
    fs::create_directories(inside / "a" / "b");
    write_file(inside / "a" / "b" / "file");
    int times = 0;
    for (bool done = false; !done; ++times) {
        std::size_t most = 3;
        const Result<bool> some = remove_some(top, most);
        ASSERT_TRUE(some);
        done = *some;
        EXPECT_TRUE(is_empty(top) || most == 0);
        ASSERT_LT(times, 1000);
    }
    EXPECT_GT(times, 10);
    std::size_t most = 0;
    EXPECT_FALSE(remove_some(top, most).value()) << "it has not looked";
}

TEST_F(ScratchContentTest, InterpretsNoName) {
    const std::string longest(255, 'n');
    const std::vector<std::string> names{longest, "\xff\xfe\x80", "new\nline", " ",  "-rf",
                                         "*",     "...",          "..a",       "\\", "\x01\x1b[2J"};
    for (const std::string& name : names) {
        ASSERT_EQ(::mkdirat(top.get(), name.c_str(), 0700), 0) << name;
        const Fd inner(::openat(top.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        for (const std::string& below : names) {
            ASSERT_EQ(::mkdirat(inner.get(), below.c_str(), 0700), 0);
            ASSERT_EQ(::mknodat(inner.get(), (below + "/f").c_str(), S_IFREG | 0600, 0), 0);
        }
    }
    EXPECT_TRUE(remove_content(top));
}

TEST_F(ScratchContentTest, ItsOwnerCannotLockItself) {
    EXPECT_TRUE(as_somebody([this] {
        fs::create_directories(inside / "a" / "b" / "c");
        fs::create_directories(inside / "empty");
        write_file(inside / "a" / "file");
        write_file(inside / "a" / "b" / "file");
        write_file(inside / "a" / "b" / "c" / "file");
        for (const char* name : {"a/b/c/file", "a/b/c", "a/b", "a", "empty", "."}) {
            if (::chmod((inside / name).c_str(), 0) != 0) {
                return false;
            }
        }
        return remove_content(top).has_value();
    }));
}

// Names that could be those of directories on their way up.
TEST_F(ScratchContentTest, NamesInTheWayDoNotStopIt) {
    EXPECT_TRUE(as_somebody([this] {
        for (int number = 0; number < 40; ++number) {
            const std::string name = ".belljar-" + std::to_string(number);
            if (number % 3 == 0) {
                write_file(inside / name);
            } else if (number % 3 == 1) {
                fs::create_directories(inside / name / name / name / name);
            } else {
                fs::create_symlink(outside, inside / name);
            }
        }
        fs::create_directories(inside / "a" / ".belljar-0" / ".belljar-1" / ".belljar-2");
        return remove_content(top).has_value();
    }));
}

// However many there are, each directory is moved once.
TEST_F(ScratchContentTest, ManyNamesInTheWayDoNotSlowItDown) {
    for (int number = 0; number < 3000; ++number) {
        fs::create_directories(inside / (".belljar-" + std::to_string(number)) / "a" / "b");
    }
    EXPECT_TRUE(remove_content(top));
}

// Nobody but root could have put one there: it is not the guest's, and stays.
TEST_F(ScratchContentTest, AnotherFileSystemIsNotEntered) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can mount";
    }
    fs::create_directories(inside / "a" / "mounted");
    const pid_t child = ::fork();
    if (child == 0) {
        const std::string place = inside / "a" / "mounted";
        const bool mounted = ::unshare(CLONE_NEWNS) == 0 &&
                             ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                             ::mount("none", place.c_str(), "tmpfs", 0, nullptr) == 0;
        write_file(place + "/file");
        fs::create_directory(place + "/directory");
        write_file(place + "/directory/file");
        const bool refused = !remove_content(top);
        ::_exit(mounted && refused && fs::exists(place + "/file") &&
                        fs::exists(place + "/directory/file")
                    ? 0
                    : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(remove_content(top));
}

TEST_F(ScratchContentTest, WhatIsNoDirectoryIsAnError) {
    EXPECT_FALSE(remove_content(Fd()));
    const Fd file(::open((outside / "file").c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_FALSE(remove_content(file));
}

}  // namespace
}  // namespace belljar::jar
