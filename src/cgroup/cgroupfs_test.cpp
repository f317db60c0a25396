#include "cgroup/cgroupfs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "cgroup/jar_cgroup.h"
#include "execution/layer.h"

namespace belljar::cgroup {
namespace {

using execution::bit;
using execution::Layer;

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// A place like /sys/fs/cgroup, made of ordinary directories.
class CgroupLayout : public testing::Test {
   protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "cgroup-layout-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        root = pattern;
    }
    void TearDown() override { fs::remove_all(root); }

    void make(const std::string& path) const {
        fs::create_directories(root + path);
        std::ofstream(root + path + "/cgroup.procs") << "";
    }
    [[nodiscard]] std::vector<Hierarchy> layout(std::string_view membership) const {
        return find_layout(membership, root);
    }

    std::string root;
};

TEST_F(CgroupLayout, PureVersionTwo) {
    make("");
    make("/user.slice/session-2.scope");
    const auto found = layout("0::/user.slice/session-2.scope\n");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_TRUE(found[0].unified);
    EXPECT_EQ(found[0].mount_point, root);
    EXPECT_EQ(found[0].own_directory, root + "/user.slice/session-2.scope");
    EXPECT_EQ(found[0].controllers, (Words{"memory", "pids", "cpu", "io", "hugetlb"}));
}

TEST_F(CgroupLayout, VersionTwoAtItsRoot) {
    make("");
    const auto found = layout("0::/\n");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].own_directory, root);
}

TEST_F(CgroupLayout, PureVersionOne) {
    for (const char* path : {"/cpu", "/cpuset", "/memory/m/deep", "/memory", "/pids/p", "/pids",
                             "/systemd", "/devices"}) {
        make(path);
    }
    const auto found = layout(
        "9:name=systemd:/\n8:pids:/p\n5:devices:/\n4:memory:/m/deep\n3:cpuset:/\n1:cpu:/\n0::/\n");
    ASSERT_EQ(found.size(), 3U) << "there is no place for version 2";
    EXPECT_EQ(found[0].own_directory, root + "/pids/p");
    EXPECT_EQ(found[1].own_directory, root + "/memory/m/deep");
    EXPECT_EQ(found[1].mount_point, root + "/memory");
    EXPECT_EQ(found[2].own_directory, root + "/cpu");
    EXPECT_TRUE(std::ranges::none_of(found, &Hierarchy::unified));
}

TEST_F(CgroupLayout, Hybrid) {
    make("/memory/m");
    make("/unified");
    make("/unified/u");
    const auto found = layout("4:memory:/m\n0::/u\n");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_FALSE(found[0].unified);
    EXPECT_TRUE(found[1].unified);
    EXPECT_EQ(found[1].mount_point, root + "/unified");
    EXPECT_EQ(found[1].own_directory, root + "/unified/u");
}

TEST_F(CgroupLayout, ControllersMountedTogetherHaveALinkEach) {
    make("/cpu,cpuacct/docker/abc");
    make("/net_cls,net_prio");
    fs::create_directory_symlink("cpu,cpuacct", root + "/cpu");
    fs::create_directory_symlink("cpu,cpuacct", root + "/cpuacct");
    fs::create_directory_symlink("net_cls,net_prio", root + "/net_cls");
    const auto found = layout("2:cpu,cpuacct:/docker/abc\n3:net_cls,net_prio:/\n");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].own_directory, root + "/cpu/docker/abc");
}

TEST_F(CgroupLayout, AContainerSeesItsOwnPartOnly) {
    make("/memory");
    make("/unified");
    const auto found = layout("4:memory:/docker/abc\n0::/../../other\n");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].own_directory, root + "/memory");
    EXPECT_EQ(found[1].own_directory, root + "/unified");
}

TEST_F(CgroupLayout, PathsMayHoldColonsAndBlanks) {
    make("");
    make("/a:b/c d.service");
    const auto found = layout("0::/a:b/c d.service\n");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].own_directory, root + "/a:b/c d.service");
}

TEST_F(CgroupLayout, ADirectoryWhereNothingIsMountedIsNone) {
    fs::create_directories(root + "/memory");
    fs::create_directories(root + "/unified");
    EXPECT_TRUE(layout("4:memory:/\n3:pids:/\n0::/\n").empty());
}

TEST_F(CgroupLayout, NothingAndNonsenseGiveNothing) {
    make("/memory");
    for (const std::string_view text :
         {"", "\n\n\n", ":", "memory", "4:memory", "::", "1:,:/", "4::memory:", "x:y:z"}) {
        EXPECT_TRUE(layout(text).empty()) << text;
    }
    EXPECT_TRUE(find_layout("4:memory:/\n0::/\n", root + "/absent").empty());
}

TEST(CgroupLayoutOfThisHost, CanBeRead) {
    for (const Hierarchy& hierarchy : read_layout()) {
        EXPECT_TRUE(fs::exists(hierarchy.own_directory + "/cgroup.procs"));
        EXPECT_TRUE(hierarchy.own_directory.starts_with(hierarchy.mount_point));
        EXPECT_FALSE(hierarchy.own_directory.ends_with('/'));
    }
}

// Ordinary files with the names and contents of those in a cgroup: what would be written, and what
// is made of what is read, without a kernel that has the version in question.
class CgroupFiles : public testing::Test {
   protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "cgroup-files-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        directory = pattern;
    }
    void TearDown() override { fs::remove_all(directory); }

    void put(const std::string& name, std::string_view content = "") const {
        std::ofstream(directory + "/" + name) << content;
    }
    [[nodiscard]] Words words(const std::string& name) const {
        return read_words(directory + "/" + name);
    }
    [[nodiscard]] CgroupUsage usage() const {
        CgroupUsage counted;
        add_usage(examine_cgroup(directory), counted);
        return counted;
    }

    std::string directory;
    execution::Limits limits{.memory = mebibytes(64), .cpu = 0.5, .processes = 13};
};

TEST_F(CgroupFiles, EveryLimitOfVersionTwo) {
    for (const char* name :
         {"memory.max", "memory.swap.max", "memory.oom.group", "memory.high", "pids.max",
          "cpu.weight", "cpu.max", "io.weight", "io.bfq.weight", "cgroup.max.descendants"}) {
        put(name);
    }
    ASSERT_TRUE(apply_limits(examine_cgroup(directory), limits, Limited::Already));
    EXPECT_EQ(words("memory.max"), Words{"67108864"});
    EXPECT_EQ(words("memory.swap.max"), Words{"0"});
    EXPECT_EQ(words("memory.oom.group"), Words{"1"});
    EXPECT_EQ(words("pids.max"), Words{"13"});
    EXPECT_EQ(words("cpu.weight"), Words{"50"});
    EXPECT_EQ(words("io.weight"), Words{"50"});
    EXPECT_EQ(words("io.bfq.weight"), Words{"50"});
    EXPECT_EQ(words("cgroup.max.descendants"), Words{"0"});
    EXPECT_EQ(words("memory.high"), Words{}) << "it would only slow the end";
    EXPECT_EQ(words("cpu.max"), Words{}) << "idle cores may be used";
}

TEST_F(CgroupFiles, EveryLimitOfVersionOne) {
    for (const char* name : {"memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "pids.max",
                             "cpu.shares", "blkio.weight", "blkio.bfq.weight"}) {
        put(name);
    }
    ASSERT_TRUE(apply_limits(examine_cgroup(directory), limits, Limited::Already));
    EXPECT_EQ(words("memory.limit_in_bytes"), Words{"67108864"});
    // Written twice; an ordinary file keeps the end of the longer number.
    EXPECT_TRUE(words("memory.memsw.limit_in_bytes").front().starts_with("67108864"));
    EXPECT_EQ(words("pids.max"), Words{"13"});
    EXPECT_EQ(words("cpu.shares"), Words{"512"});
    EXPECT_EQ(words("blkio.weight"), Words{"250"});
    EXPECT_EQ(words("blkio.bfq.weight"), Words{"50"});
}

TEST_F(CgroupFiles, ANewCgroupHasNoOldLimitToMakeRoomFor) {
    put("memory.memsw.limit_in_bytes");
    ASSERT_TRUE(apply_limits(examine_cgroup(directory), limits, Limited::NotYet));
    EXPECT_EQ(words("memory.memsw.limit_in_bytes"), Words{"67108864"});
}

TEST_F(CgroupFiles, HugePagesAreForbiddenInTheWholeTree) {
    const Cgroup tree{.path = directory};
    EXPECT_TRUE(forbid_huge_pages(tree)) << "there may be none";
    put("hugetlb.2MB.max");
    EXPECT_TRUE(forbid_huge_pages(tree));
    EXPECT_EQ(words("hugetlb.2MB.max"), Words{"0"});
    for (const char* reserved : {"hugetlb.2MB.rsvd.max", "hugetlb.1GB.rsvd.limit_in_bytes"}) {
        put(reserved);
        EXPECT_TRUE(forbid_huge_pages(tree));
        EXPECT_EQ(words(reserved), Words{"0"});
    }
    fs::create_directory(directory + "/hugetlb.1GB.max");
    EXPECT_FALSE(forbid_huge_pages(tree));
    EXPECT_FALSE(JarCgroups({directory}).make(1, limits)) << "no jar without that limit";
}

TEST_F(CgroupFiles, SharesStayWithinWhatTheKernelTakes) {
    const Words names{"cpu.weight", "cpu.shares", "io.weight", "io.bfq.weight", "blkio.weight"};
    const auto written = [&](double cpu) {
        Words all;
        for (const std::string& name : names) {
            put(name);
        }
        limits.cpu = cpu;
        EXPECT_TRUE(apply_limits(examine_cgroup(directory), limits, Limited::Already));
        for (const std::string& name : names) {
            all.push_back(words(name).front());
        }
        return all;
    };
    EXPECT_EQ(written(0.0), (Words{"1", "2", "1", "1", "10"}));
    EXPECT_EQ(written(1.0), (Words{"100", "1024", "100", "100", "500"}));
    EXPECT_EQ(written(1e6), (Words{"10000", "262144", "10000", "1000", "1000"}));
}

TEST_F(CgroupFiles, WritesNothingWhereNothingIs) {
    ASSERT_TRUE(apply_limits(examine_cgroup(directory), limits, Limited::Already));
    EXPECT_TRUE(fs::is_empty(directory));
}

TEST_F(CgroupFiles, ALimitThatCannotBeWrittenIsAnError) {
    put("pids.max");
    const Cgroup tree = examine_cgroup(directory);
    const Cgroup jar{.path = directory + "/jar", .controls = tree.controls};
    fs::create_directory(jar.path);
    const Result<void> absent = apply_limits(jar, limits, Limited::Already);
    ASSERT_FALSE(absent) << "the tree has it, so the jar must";
    EXPECT_EQ(absent.error().sys_errno, ENOENT);
    fs::create_directory(jar.path + "/pids.max");
    EXPECT_EQ(apply_limits(jar, limits, Limited::Already).error().sys_errno, EISDIR);
}

TEST_F(CgroupFiles, TheFilesSayWhichLayersThereAre) {
    const auto bit = [](Layer layer) { return static_cast<std::uint32_t>(layer); };
    EXPECT_EQ(examine_cgroup(directory).layers, 0U);
    put("io.weight");
    put("memory.peak");
    EXPECT_EQ(examine_cgroup(directory).layers, 0U) << "none of these is a layer";
    put("memory.max");
    EXPECT_EQ(examine_cgroup(directory).layers, bit(Layer::MemoryLimit));
    put("pids.max");
    put("cpu.shares");
    EXPECT_EQ(examine_cgroup(directory).layers,
              bit(Layer::MemoryLimit) | bit(Layer::ProcessLimit) | bit(Layer::CpuShare));
}

TEST_F(CgroupFiles, CountersOfVersionTwo) {
    put("cpu.stat", "usage_usec 2500\nuser_usec 2000\nsystem_usec 500\n");
    put("memory.peak", "7340032\n");
    put("memory.events", "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n");
    put("pids.peak", "5\n");
    put("pids.events", "max 4\n");
    const CgroupUsage counted = usage();
    EXPECT_EQ(counted.cpu, std::chrono::microseconds(2500));
    EXPECT_EQ(counted.memory_peak_bytes, 7340032U);
    EXPECT_EQ(counted.out_of_memory_kills, 2U);
    EXPECT_EQ(counted.processes_peak, 5U);
    EXPECT_EQ(counted.process_limit_hits, 4U);
}

TEST_F(CgroupFiles, CountersOfVersionOne) {
    put("cpuacct.usage", "2500123\n");
    put("cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
    put("memory.max_usage_in_bytes", "7340032\n");
    put("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    const CgroupUsage counted = usage();
    EXPECT_EQ(counted.cpu, std::chrono::nanoseconds(2500123));
    EXPECT_EQ(counted.memory_peak_bytes, 7340032U);
    EXPECT_EQ(counted.out_of_memory_kills, 2U);
}

TEST_F(CgroupFiles, WhatIsNotCountedIsZero) {
    put("memory.current", "123456\n");
    const CgroupUsage counted = usage();
    EXPECT_EQ(counted.cpu, Duration{});
    EXPECT_EQ(counted.memory_peak_bytes, 0U) << "what is in use now is not the peak";
    EXPECT_EQ(counted.processes_peak, 0U);
}

TEST_F(CgroupFiles, NumbersOfStrangeFiles) {
    put("number", "17");
    put("words", "max\n");
    put("empty", "");
    put("keyed", "first 1\nsecond\n");
    EXPECT_EQ(read_number(directory + "/number"), 17U);
    EXPECT_EQ(read_number(directory + "/words"), 0U);
    EXPECT_EQ(read_number(directory + "/empty"), 0U);
    EXPECT_EQ(read_number(directory + "/absent"), 0U);
    EXPECT_EQ(read_number(directory + "/keyed", "first"), 1U);
    EXPECT_EQ(read_number(directory + "/keyed", "second"), 0U) << "the key stands last";
    EXPECT_EQ(read_number(directory + "/keyed", "third"), 0U);
}

TEST_F(CgroupFiles, GroupKillIsPreferredToSignals) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    put("cgroup.procs", std::to_string(child) + "\n");
    put("cgroup.kill");
    EXPECT_TRUE(kill_processes(directory));
    EXPECT_EQ(words("cgroup.kill"), Words{"1"});
    EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "only the kernel was asked";
    fs::remove(directory + "/cgroup.kill");
    EXPECT_FALSE(kill_processes(directory)) << "there may be more";
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    put("cgroup.procs");
    EXPECT_TRUE(kill_processes(directory));
}

TEST_F(CgroupFiles, NeverSignalsItselfNorWhatItCannotName) {
    // 0 stands for a process of another pid namespace, and would be our whole process group.
    put("cgroup.procs", "0\n1\n" + std::to_string(::getpid()) + "\n");
    EXPECT_FALSE(kill_processes(directory));
    EXPECT_EQ(list_processes(directory), (std::vector<pid_t>{0, 1, ::getpid()}));
}

}  // namespace
}  // namespace belljar::cgroup
