#include "isolation/scratch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

#include "jar/scratch.h"

namespace belljar::isolation {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kSomebody = 1'900'000'004;

struct stat status_of(const fs::path& path) {
    struct stat status{};
    EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
    return status;
}

bool remove_all_of(const Scratch& scratch, std::uint64_t jar) {
    std::size_t most = std::numeric_limits<std::size_t>::max();
    return scratch.remove(jar, most).value_or(false);
}

class ScratchTest : public testing::Test {
   protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "scratch-test-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        parent = name;
    }
    void TearDown() override { fs::remove_all(parent); }

    // What is in the parent, which nobody else uses.
    [[nodiscard]] std::vector<fs::path> directories() const {
        std::vector<fs::path> found;
        for (const auto& entry : fs::directory_iterator(parent)) {
            found.push_back(entry.path());
        }
        return found;
    }

    // What a warden leaves that dies at once.
    [[nodiscard]] fs::path leave_stale() const {
        const pid_t child = ::fork();
        if (child == 0) {
            const Result<Scratch> scratch = Scratch::create(parent);
            ::_exit(scratch && scratch->make(1, ::geteuid()) ? 0 : 1);
        }
        int status = -1;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
        EXPECT_EQ(directories().size(), 1U);
        return directories().front();
    }

    fs::path parent;
};

TEST_F(ScratchTest, IsOneDirectoryWhoseContentOthersCannotList) {
    const Scratch scratch = Scratch::create(parent).value();
    ASSERT_EQ(directories().size(), 1U);
    const fs::path own = directories().front();
    EXPECT_TRUE(own.filename().native().starts_with("belljar-scratch-"));
    EXPECT_EQ(status_of(own).st_mode & 07777, 0711U);
}

TEST_F(ScratchTest, ADirectoryOfAJarBelongsToItsOwner) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can give directories away";
    }
    const Scratch scratch = Scratch::create(parent).value();
    const Fd made = scratch.make(7, kSomebody).value();
    const fs::path jar = directories().front() / "jar-7";
    // Its owner passes through it and changes nothing in it.
    EXPECT_EQ(status_of(jar).st_uid, ::geteuid());
    EXPECT_EQ(status_of(jar).st_mode & 07777, 0711U);
    for (const fs::path& path : {jar / jar::kWorkspaceName, jar / jar::kTmpName}) {
        EXPECT_EQ(status_of(path).st_uid, kSomebody);
        EXPECT_EQ(status_of(path).st_gid, kSomebody);
        EXPECT_EQ(status_of(path).st_mode & 07777, 0700U);
    }
    EXPECT_EQ(::fcntl(made.get(), F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(scratch.make(7, kSomebody).error().sys_errno, EEXIST) << "never used twice";
}

TEST_F(ScratchTest, RemovesTheDirectoryOfOneJar) {
    const Scratch scratch = Scratch::create(parent).value();
    ASSERT_TRUE(scratch.make(1, ::geteuid()));
    ASSERT_TRUE(scratch.make(2, ::geteuid()));
    const fs::path own = directories().front();
    fs::create_directories(own / "jar-1" / jar::kWorkspaceName / "a" / "b");
    std::ofstream(own / "jar-1" / jar::kTmpName / "file") << "content";
    EXPECT_TRUE(remove_all_of(scratch, 1));
    EXPECT_FALSE(fs::exists(own / "jar-1"));
    EXPECT_TRUE(fs::exists(own / "jar-2"));
    EXPECT_TRUE(remove_all_of(scratch, 1)) << "removing twice is harmless";
    EXPECT_TRUE(remove_all_of(scratch, 99));
}

TEST_F(ScratchTest, RemovesNoMoreThanItMay) {
    const Scratch scratch = Scratch::create(parent).value();
    ASSERT_TRUE(scratch.make(1, ::geteuid()));
    const fs::path own = directories().front();
    for (int number = 0; number < 10; ++number) {
        std::ofstream(own / "jar-1" / jar::kTmpName / std::to_string(number)) << "content";
    }
    std::size_t most = 5;
    EXPECT_EQ(scratch.remove(1, most).value(), false);
    EXPECT_EQ(most, 0U);
    EXPECT_TRUE(fs::exists(own / "jar-1"));
    EXPECT_TRUE(remove_all_of(scratch, 1));
    EXPECT_FALSE(fs::exists(own / "jar-1"));
}

TEST_F(ScratchTest, RemovesEverythingAtItsEnd) {
    {
        const Scratch scratch = Scratch::create(parent).value();
        ASSERT_TRUE(scratch.make(1, ::geteuid()));
        std::ofstream(directories().front() / "jar-1" / jar::kWorkspaceName / "file") << "content";
    }
    EXPECT_TRUE(directories().empty());
}

TEST_F(ScratchTest, CanBeMoved) {
    {
        Scratch first = Scratch::create(parent).value();
        const Scratch second(std::move(first));
        EXPECT_TRUE(second.make(1, ::geteuid()));
        EXPECT_EQ(directories().size(), 1U);
    }
    EXPECT_TRUE(directories().empty());
}

TEST_F(ScratchTest, WhatADeadWardenLeftIsRemoved) {
    const fs::path stale = leave_stale();
    EXPECT_TRUE(fs::exists(stale / "jar-1"));
    const Scratch scratch = Scratch::create(parent).value();
    EXPECT_FALSE(fs::exists(stale));
    EXPECT_EQ(directories().size(), 1U);
}

TEST_F(ScratchTest, WhatALivingWardenHasIsKept) {
    const Scratch first = Scratch::create(parent).value();
    ASSERT_TRUE(first.make(1, ::geteuid()));
    {
        const Scratch second = Scratch::create(parent).value();
        EXPECT_EQ(directories().size(), 2U);
    }
    ASSERT_EQ(directories().size(), 1U);
    EXPECT_TRUE(fs::exists(directories().front() / "jar-1" / jar::kWorkspaceName));
}

TEST_F(ScratchTest, WhatBelongsToOthersOrIsCalledOtherwiseIsKept) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can make files of others";
    }
    const fs::path outside = parent / "outside";
    fs::create_directories(outside / "content");
    fs::create_directories(parent / "belljar-scratch-others" / "content");
    ASSERT_EQ(::chown((parent / "belljar-scratch-others").c_str(), kSomebody, kSomebody), 0);
    fs::create_directory_symlink(outside, parent / "belljar-scratch-link");
    std::ofstream(parent / "belljar-scratch-file") << "content";
    fs::create_directories(parent / "belljar-scratc" / "content");
    {
        const Scratch scratch = Scratch::create(parent).value();
    }
    EXPECT_TRUE(fs::exists(outside / "content"));
    EXPECT_TRUE(fs::exists(parent / "belljar-scratch-others" / "content"));
    EXPECT_TRUE(fs::is_symlink(parent / "belljar-scratch-link"));
    EXPECT_TRUE(fs::exists(parent / "belljar-scratch-file"));
    EXPECT_TRUE(fs::exists(parent / "belljar-scratc" / "content"));
}

TEST_F(ScratchTest, WithoutAPlaceItIsAnError) {
    EXPECT_EQ(Scratch::create(parent / "missing").error().sys_errno, ENOENT);
}

// Starts and ends as a warden does, again and again.
int be_many_wardens(const fs::path& parent) {
    for (int round = 0; round < 200; ++round) {
        const Result<Scratch> scratch = Scratch::create(parent);
        if (!scratch || !scratch->make(1, ::geteuid()) || !remove_all_of(*scratch, 1)) {
            return 1;
        }
    }
    return 0;
}

// Before it has its lock, a directory looks stale to others.
TEST_F(ScratchTest, WardensThatStartTogetherDoNotHarmEachOther) {
    std::vector<pid_t> children;
    for (int count = 0; count < 4; ++count) {
        children.push_back(::fork());
        if (children.back() == 0) {
            ::_exit(be_many_wardens(parent));
        }
    }
    for (const pid_t child : children) {
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    EXPECT_TRUE(directories().empty());
}

}  // namespace
}  // namespace belljar::isolation
