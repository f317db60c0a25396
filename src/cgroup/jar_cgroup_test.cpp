#include "cgroup/jar_cgroup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <thread>

#include "cgroup/test_cgroups.h"
#include "execution/layer.h"

namespace belljar::cgroup {
namespace {

using execution::bit;
using execution::Layer;

namespace fs = std::filesystem;

fs::path path_of(int descriptor) {
    return fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor));
}

// The directories of a jar, one per hierarchy.
std::vector<fs::path> directories_of(const JarCgroup& cgroup) {
    std::vector<fs::path> paths;
    for (const Fd& tasks : cgroup.tasks_files()) {
        paths.push_back(path_of(tasks.get()).parent_path());
    }
    if (cgroup.clone_target() >= 0) {
        paths.push_back(path_of(cgroup.clone_target()));
    }
    return paths;
}

// The content of the first of `names` that exists in any of the directories.
std::string control(const std::vector<fs::path>& directories,
                    std::initializer_list<std::string_view> names) {
    for (const fs::path& directory : directories) {
        for (const std::string_view name : names) {
            if (Result<std::string> text = read_file(directory / name, kibibytes(64))) {
                text->erase(text->find_last_not_of('\n') + 1);
                return *text;
            }
        }
    }
    return "absent";
}

// Version 1 only needs a write; for version 2 the same write goes to cgroup.procs.
bool join(const std::vector<fs::path>& directories) {
    return std::ranges::all_of(directories, [](const fs::path& directory) {
        const Fd file(::open((directory / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
        return file.valid() && ::write(file.get(), "0", 1) == 1;
    });
}

// A process inside the jar's cgroups that waits until it is killed; ready when this returns.
pid_t start_member(const std::vector<fs::path>& directories) {
    Pipe pipe = make_pipe().value();
    const pid_t child = ::fork();
    if (child == 0) {
        const bool joined = join(directories);
        ::dup2(pipe.write_end.get(), STDERR_FILENO);
        ::syscall(SYS_close_range, 3U, ~0U, 0U);
        if (!joined || ::write(STDERR_FILENO, "r", 1) != 1) {
            ::_exit(1);
        }
        ::close(STDERR_FILENO);
        ::pause();
        ::_exit(0);
    }
    pipe.write_end.reset();
    EXPECT_EQ(read_all(pipe.read_end, kibibytes(1)).value(), "r");
    return child;
}

// The kernel lets go of an ended process a moment after wait(2) has told of it.
bool removes_soon(JarCgroup& cgroup) {
    const TimePoint deadline = Clock::now() + std::chrono::seconds(5);
    while (!cgroup.remove()) {
        if (Clock::now() > deadline) {
            return false;
        }
        std::this_thread::yield();
    }
    return true;
}

// Writes into new memory until it is there, or until the kernel ends the process.
void take_memory(std::size_t size) {
    auto* memory = static_cast<volatile char*>(
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (std::size_t offset = 0; offset < size; offset += 4096) {
        memory[offset] = 'm';
    }
}

bool is_readable(const Fd& event, int milliseconds = 0) {
    pollfd entry{.fd = event.get(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, milliseconds) == 1;
}

int status_of(pid_t child) {
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
}

bool ends_soon(const JarCgroup& cgroup) {
    const TimePoint deadline = Clock::now() + std::chrono::seconds(5);
    while (cgroup.populated() && Clock::now() < deadline) {
        std::this_thread::yield();
    }
    return !cgroup.populated();
}

void write_file(const fs::path& path, std::string_view text) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_TRUE(file.valid() && write_all(file, text)) << path;
}

bool none_exists(const std::vector<fs::path>& paths) {
    return std::ranges::none_of(paths, [](const fs::path& path) { return fs::exists(path); });
}

class CgroupTest : public testing::Test {
   protected:
    void SetUp() override {
        if (::geteuid() != 0) {
            GTEST_SKIP() << "cgroups can be made only by root";
        }
        cgroups.emplace();
        jars = cgroups->jars();
    }
    void TearDown() override { EXPECT_TRUE(!cgroups || cgroups->remove()); }

    [[nodiscard]] bool limits_hold(Layer layer) const { return (jars.layers() & bit(layer)) != 0; }

    std::optional<TestCgroups> cgroups;
    JarCgroups jars;
    execution::Limits limits;
};

TEST_F(CgroupTest, SaysWhatItCanLimit) {
    const std::uint32_t all =
        bit(Layer::MemoryLimit) | bit(Layer::ProcessLimit) | bit(Layer::CpuShare);
    EXPECT_EQ(jars.layers() & ~all, 0U);
    if (jars.layers() != all) {
        GTEST_SKIP() << "this host hands down not every controller: layers " << jars.layers();
    }
}

TEST_F(CgroupTest, WithoutTreesJarsHaveNoLimitAndNoCgroup) {
    const JarCgroups none;
    EXPECT_EQ(none.layers(), 0U);
    JarCgroup jar = none.make(1, limits).value();
    EXPECT_EQ(jar.clone_target(), -1);
    EXPECT_TRUE(jar.tasks_files().empty());
    EXPECT_FALSE(jar.oom_event().valid());
    EXPECT_TRUE(jar.kill());
    EXPECT_TRUE(jar.remove());
}

TEST_F(CgroupTest, ATreeThatIsGoneIsAnErrorForEveryJar) {
    ASSERT_TRUE(cgroups->remove());
    if (jars.layers() == 0) {
        GTEST_SKIP() << "this host has no controller for jars";
    }
    EXPECT_EQ(jars.make(1, limits).error().sys_errno, ENOENT);
    const JarCgroups examined_too_late({"/sys/fs/cgroup/no-such-tree"});
    EXPECT_EQ(examined_too_late.layers(), 0U) << "what it promises is what is there";
}

TEST_F(CgroupTest, WritesEveryLimit) {
    limits.memory = mebibytes(77);
    limits.processes = 13;
    limits.cpu = 0.5;
    JarCgroup jar = jars.make(1, limits).value();
    const std::vector<fs::path> directories = directories_of(jar);
    if (limits_hold(Layer::MemoryLimit)) {
        EXPECT_EQ(control(directories, {"memory.limit_in_bytes", "memory.max"}), "80740352");
    }
    if (limits_hold(Layer::ProcessLimit)) {
        EXPECT_EQ(control(directories, {"pids.max"}), "13");
    }
    if (limits_hold(Layer::CpuShare)) {
        const std::string share = control(directories, {"cpu.shares", "cpu.weight"});
        EXPECT_TRUE(share == "512" || share == "50") << share;
    }
    const std::string io = control(directories, {"blkio.bfq.weight", "io.weight", "blkio.weight"});
    EXPECT_TRUE(io == "50" || io == "default 50" || io == "250" || io == "absent") << io;
    const std::string swap =
        control(directories, {"memory.memsw.limit_in_bytes", "memory.swap.max"});
    EXPECT_TRUE(swap == "80740352" || swap == "0" || swap == "absent") << swap;
}

TEST_F(CgroupTest, JarsAreSeparateAndRemovedWithoutATrace) {
    JarCgroup first = jars.make(1, limits).value();
    JarCgroup second = jars.make(2, limits).value();
    const std::vector<fs::path> first_paths = directories_of(first);
    const std::vector<fs::path> second_paths = directories_of(second);
    ASSERT_FALSE(first_paths.empty());
    EXPECT_NE(first_paths.front(), second_paths.front());
    EXPECT_TRUE(first.remove());
    EXPECT_TRUE(none_exists(first_paths));
    EXPECT_FALSE(none_exists(second_paths));
    EXPECT_TRUE(first.remove()) << "removing twice is harmless";
}

TEST_F(CgroupTest, RemovesItselfWhenItIsDestroyed) {
    std::vector<fs::path> paths;
    {
        const JarCgroup jar = jars.make(1, limits).value();
        paths = directories_of(jar);
    }
    EXPECT_TRUE(none_exists(paths));
}

TEST_F(CgroupTest, RefusesTheSameJarTwice) {
    const JarCgroup jar = jars.make(5, limits).value();
    EXPECT_EQ(jars.make(5, limits).error().sys_errno, EEXIST);
    EXPECT_FALSE(none_exists(directories_of(jar))) << "the first one was not touched";
}

TEST_F(CgroupTest, AFailedJarLeavesNothing) {
    limits.memory = Bytes{UINT64_MAX};
    limits.processes = 0;
    if (Result<JarCgroup> jar = jars.make(9, limits)) {
        EXPECT_TRUE(jar->remove());
    }
    EXPECT_TRUE(jars.make(9, execution::Limits{}));
}

TEST_F(CgroupTest, CountsWhatItsProcessesUse) {
    JarCgroup jar = jars.make(1, limits).value();
    const std::vector<fs::path> directories = directories_of(jar);
    const pid_t child = ::fork();
    if (child == 0) {
        constexpr std::size_t kSize = 16U << 20U;
        if (!join(directories)) {
            ::_exit(1);
        }
        std::string memory(kSize, 'm');
        unsigned sum = 0;
        for (int round = 0; round < 2; ++round) {
            for (const char letter : memory) {
                sum += static_cast<unsigned char>(letter);
            }
        }
        ::_exit(sum == 0 ? 1 : 0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    const CgroupUsage usage = jar.usage();
    EXPECT_GT(usage.cpu.count(), 0);
    EXPECT_GE(usage.memory_peak_bytes, 16U << 20U);
    EXPECT_GE(usage.processes_peak, 1U);
    EXPECT_EQ(usage.out_of_memory_kills, 0U);
    EXPECT_EQ(usage.process_limit_hits, 0U);
    EXPECT_TRUE(removes_soon(jar));
}

TEST_F(CgroupTest, CannotBeRemovedWhileAProcessIsInIt) {
    JarCgroup jar = jars.make(1, limits).value();
    const std::vector<fs::path> directories = directories_of(jar);
    const pid_t member = start_member(directories);
    EXPECT_EQ(jar.remove().error().sys_errno, EBUSY);
    EXPECT_FALSE(none_exists(directories));
    ASSERT_EQ(::kill(member, SIGKILL), 0);
    ASSERT_EQ(::waitpid(member, nullptr, 0), member);
    EXPECT_TRUE(removes_soon(jar));
    EXPECT_TRUE(none_exists(directories));
}

TEST_F(CgroupTest, IsPopulatedWhileAProcessIsInIt) {
    JarCgroup jar = jars.make(1, limits).value();
    EXPECT_FALSE(jar.populated());
    const pid_t member = start_member(directories_of(jar));
    EXPECT_TRUE(jar.populated());
    ASSERT_EQ(::kill(member, SIGKILL), 0);
    EXPECT_EQ(WTERMSIG(status_of(member)), SIGKILL);
    EXPECT_TRUE(ends_soon(jar));
    EXPECT_FALSE(JarCgroup().populated());
}

// Forks as long as it may and then tries again, as do its children and theirs.
[[noreturn]] void fork_for_ever() {
    ::setsid();
    while (::fork() >= 0 || errno == EAGAIN) {
    }
    ::_exit(1);
}

// Starts such a family. It is as large as the jar allows when this returns.
pid_t start_family(const JarCgroup& jar) {
    const std::vector<fs::path> directories = directories_of(jar);
    const pid_t child = ::fork();
    if (child == 0) {
        if (join(directories)) {
            fork_for_ever();
        }
        ::_exit(1);
    }
    const TimePoint deadline = Clock::now() + std::chrono::seconds(20);
    while (jar.usage().process_limit_hits == 0 && Clock::now() < deadline) {
        std::this_thread::yield();
    }
    EXPECT_GT(jar.usage().process_limit_hits, 0U);
    return child;
}

TEST_F(CgroupTest, KillEndsWhatForksOnAndOn) {
    limits.processes = 40;
    JarCgroup jar = jars.make(1, limits).value();
    const pid_t family = start_family(jar);
    EXPECT_TRUE(jar.populated());
    EXPECT_TRUE(jar.kill());
    EXPECT_TRUE(ends_soon(jar));
    status_of(family);
    EXPECT_TRUE(removes_soon(jar));
}

TEST_F(CgroupTest, KillEndsItAlsoWithoutVersionTwo) {
    std::vector<Hierarchy> layout = read_layout();
    std::erase_if(layout, &Hierarchy::unified);
    if (layout.empty()) {
        GTEST_SKIP() << "this host has no version 1";
    }
    TestCgroups old(layout);
    limits.processes = 40;
    JarCgroup jar = old.jars().make(1, limits).value();
    EXPECT_EQ(jar.clone_target(), -1);
    const pid_t family = start_family(jar);
    EXPECT_TRUE(jar.populated());
    EXPECT_TRUE(jar.kill());
    EXPECT_FALSE(jar.populated()) << "version 1 waits until the last is gone";
    status_of(family);
    EXPECT_TRUE(removes_soon(jar));
    EXPECT_TRUE(old.remove());
}

TEST_F(CgroupTest, KillOfNothingIsHarmless) {
    EXPECT_TRUE(JarCgroup().kill());
    EXPECT_TRUE(jars.make(1, limits)->kill());
}

// Version 1 only: on version 2 the kernel ends the whole jar, and there is nothing to tell.
class CgroupMemoryTest : public CgroupTest {
   protected:
    void SetUp() override {
        CgroupTest::SetUp();
        if (IsSkipped()) {
            return;
        }
        limits.memory = mebibytes(32);
        jar = jars.make(1, limits).value();
        if (!jar.oom_event().valid()) {
            GTEST_SKIP() << "the memory controller is not on version 1 here";
        }
    }
    void TearDown() override {
        EXPECT_TRUE(jar.kill());
        EXPECT_TRUE(removes_soon(jar));
        CgroupTest::TearDown();
    }

    // A process that joins and then takes memory.
    static pid_t start_taking(const JarCgroup& cgroup, std::size_t size) {
        const std::vector<fs::path> directories = directories_of(cgroup);
        const pid_t child = ::fork();
        if (child == 0) {
            const bool joined = join(directories);
            take_memory(joined ? size : 0);
            ::_exit(joined ? 0 : 1);
        }
        return child;
    }

    static constexpr std::size_t kTooMuch = 256U << 20U;
    JarCgroup jar;
};

TEST_F(CgroupMemoryTest, TellsWhenMemoryRunsOut) {
    const pid_t bomb = start_taking(jar, kTooMuch);
    EXPECT_TRUE(is_readable(jar.oom_event(), 10'000));
    EXPECT_TRUE(jar.out_of_memory());
    EXPECT_EQ(WTERMSIG(status_of(bomb)), SIGKILL);
    EXPECT_GT(jar.usage().out_of_memory_kills, 0U);
    EXPECT_FALSE(is_readable(jar.oom_event())) << "the event was taken";
}

TEST_F(CgroupMemoryTest, TellsAlsoIfTheParentOfTheBombSurvives) {
    const std::vector<fs::path> directories = directories_of(jar);
    const pid_t parent = ::fork();
    if (parent == 0) {
        if (!join(directories)) {
            ::_exit(1);
        }
        const pid_t bomb = ::fork();
        if (bomb == 0) {
            take_memory(kTooMuch);
            ::_exit(0);
        }
        ::waitpid(bomb, nullptr, 0);
        ::pause();
        ::_exit(0);
    }
    EXPECT_TRUE(is_readable(jar.oom_event(), 10'000));
    EXPECT_TRUE(jar.out_of_memory());
    EXPECT_TRUE(jar.populated()) << "the kernel ends one process only";
    EXPECT_EQ(::waitpid(parent, nullptr, WNOHANG), 0);
    EXPECT_TRUE(jar.kill());
    EXPECT_EQ(WTERMSIG(status_of(parent)), SIGKILL);
    EXPECT_TRUE(ends_soon(jar));
}

// The event comes before the kernel has counted a kill; whoever asks at once must not hear no.
TEST_F(CgroupMemoryTest, TheAnswerIsRightAtOnce) {
    for (std::uint64_t number = 10; number < 40; ++number) {
        JarCgroup other = jars.make(number, limits).value();
        const pid_t bomb = start_taking(other, kTooMuch);
        while (!is_readable(other.oom_event(), 0)) {
        }
        EXPECT_TRUE(other.out_of_memory());
        EXPECT_EQ(WTERMSIG(status_of(bomb)), SIGKILL);
        EXPECT_TRUE(removes_soon(other));
    }
}

TEST_F(CgroupMemoryTest, TellsNothingWhileThereIsEnough) {
    EXPECT_EQ(status_of(start_taking(jar, 24U << 20U)), 0);
    EXPECT_FALSE(is_readable(jar.oom_event()));
    EXPECT_FALSE(jar.out_of_memory());
}

TEST_F(CgroupMemoryTest, TellsNothingWhenTheLimitIsHitByFilesThatCanBeDropped) {
    const std::string name = testing::TempDir() + "cgroup-test-file";
    const std::vector<fs::path> directories = directories_of(jar);
    const pid_t writer = ::fork();
    if (writer == 0) {
        const Fd file(::open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        const std::string block(1U << 20U, 'f');
        bool good = join(directories) && file.valid();
        for (int count = 0; good && count < 64; ++count) {
            good = write_all(file, block).has_value();
        }
        ::_exit(good ? 0 : 1);
    }
    EXPECT_EQ(status_of(writer), 0);
    fs::remove(name);
    EXPECT_GE(jar.usage().memory_peak_bytes, 31U << 20U) << "it was full";
    EXPECT_FALSE(is_readable(jar.oom_event()));
    EXPECT_EQ(jar.usage().out_of_memory_kills, 0U);
}

// The kernel tells every cgroup below the one that is full.
TEST_F(CgroupMemoryTest, ABombNextDoorIsNotOurs) {
    const std::vector<fs::path> directories = directories_of(jar);
    const auto memory = std::ranges::find_if(directories, [](const fs::path& path) {
        return fs::exists(path / "memory.limit_in_bytes");
    });
    ASSERT_NE(memory, directories.end());
    write_file(memory->parent_path() / "memory.limit_in_bytes", "67108864");
    limits.memory = mebibytes(512);
    JarCgroup neighbour = jars.make(2, limits).value();
    const pid_t member = start_member(directories);
    const pid_t bomb = start_taking(neighbour, kTooMuch);
    EXPECT_EQ(WTERMSIG(status_of(bomb)), SIGKILL);
    EXPECT_TRUE(is_readable(neighbour.oom_event()));
    EXPECT_TRUE(neighbour.out_of_memory());
    EXPECT_TRUE(is_readable(jar.oom_event())) << "we are told as well";
    EXPECT_FALSE(jar.out_of_memory());
    EXPECT_FALSE(is_readable(jar.oom_event())) << "once";
    EXPECT_EQ(::waitpid(member, nullptr, WNOHANG), 0);
    EXPECT_TRUE(jar.kill());
    EXPECT_EQ(WTERMSIG(status_of(member)), SIGKILL);
    EXPECT_TRUE(removes_soon(neighbour));
}

}  // namespace
}  // namespace belljar::cgroup
