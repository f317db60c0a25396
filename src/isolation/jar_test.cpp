#include "isolation/jar.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "cgroup/test_cgroups.h"
#include "isolation/test_init.h"
#include "jar/device_tree.h"
#include "jar/landlock.h"
#include "jar/pack_stream.h"

namespace belljar::isolation {
namespace {

using cgroup::JarCgroup;
using cgroup::JarCgroups;
using cgroup::TestCgroups;

using std::chrono::milliseconds;
using std::chrono::seconds;

// No other warden of this host uses ids below its own range.
constexpr uid_t kFirstTestUser = 1'900'000'000;

bool is_readable(const Fd& fd, milliseconds limit) {
    pollfd entry{.fd = fd.get(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, static_cast<int>(limit.count())) == 1;
}

int milliseconds_until(TimePoint when) {
    const auto left = std::chrono::ceil<milliseconds>(when - Clock::now());
    return static_cast<int>(std::clamp(left, milliseconds(0), milliseconds(20'000)).count());
}

// What the warden's loop does for one jar, up to its end.
void drive(Jar& jar) {
    const TimePoint give_up = Clock::now() + seconds(60);
    while (Clock::now() < give_up) {
        std::array<pollfd, 2> entries{
            {{.fd = jar.exit_fd().get(), .events = POLLIN, .revents = 0},
             {.fd = jar.report_fd().get(), .events = POLLIN, .revents = 0}}};
        ASSERT_GE(::poll(entries.data(), entries.size(), milliseconds_until(jar.deadline())), 0);
        if (entries[1].revents != 0) {
            ASSERT_TRUE(jar.on_report());
        }
        if (entries[0].revents != 0) {
            ASSERT_TRUE(jar.on_exit());
            return;
        }
        if (jar.deadline() <= Clock::now()) {
            jar.on_deadline();
        }
    }
    FAIL() << "the jar did not end";
}

bool removes_cgroup_soon(Jar& jar) {
    const TimePoint deadline = Clock::now() + seconds(5);
    while (!jar.remove_cgroup()) {
        if (Clock::now() > deadline) {
            return false;
        }
        std::this_thread::yield();
    }
    return true;
}

class JarTest : public testing::Test {
   protected:
    void SetUp() override {
        if (::geteuid() != 0) {
            GTEST_SKIP() << "jars can be made only by root";
        }
        cgroups.emplace();
        jars = cgroups->jars();
        const Fd place = jars.make_nursery(first_user).value();
        nursery = jar::Nursery::start(init, {.first = first_user, .count = 2}, place.get()).value();
    }
    void TearDown() override {
        nursery = {};
        EXPECT_TRUE(!cgroups || cgroups->remove());
    }

    enum class Input { Empty, Held };  // Held: until `input` is closed

    Jar launch(std::vector<std::string> arguments, Input from = Input::Empty) {
        jar::Spec spec;
        spec.message.command =
            jar::to_text({.arguments = std::move(arguments), .environment = {"PATH=/usr/bin:/bin"}})
                .value();
        spec.message.outer_user = 1;
        spec.devices = jar::make_device_tree().value();
        spec.message.own_user = 1;
        spec.message.landlock_abi = jar::find_landlock_abi();
        spec.message.processes = limits.processes;
        spec.message.memory_bytes = limits.memory.count;
        spec.message.tmp_bytes = limits.tmp.count;
        spec.message.workspace_bytes = limits.workspace.count;
        Pipe pipe = make_pipe().value();
        output = std::move(pipe.read_end);
        for (std::size_t index = 0; index < kGuestFdCount; ++index) {
            const bool written = index == 1 || index == 2;
            spec.descriptors[index] = written
                                          ? Fd(::fcntl(pipe.write_end.get(), F_DUPFD_CLOEXEC, 3))
                                          : Fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
        }
        if (from == Input::Held) {
            Pipe held = make_pipe().value();
            input = std::move(held.write_end);
            spec.descriptors[0] = std::move(held.read_end);
        }
        spec.stage = nursery.stage_for(spec.message, std::move(tools)).value();
        Result<JarCgroup> cgroup = jars.make(1, limits);
        EXPECT_TRUE(cgroup);
        spec.cgroup_files = cgroup->take_tasks_files();
        Result<Jar> jar =
            Jar::launch(1, std::move(spec), limits.timeout,
                        {.cgroup = std::move(*cgroup), .host_user = first_user + 1, .zygote = 0},
                        {.nursery = nursery, .init = init});
        EXPECT_TRUE(jar) << jar.error().describe();
        return std::move(*jar);
    }

    // A shell script from beginning to end; what it printed is in `printed`.
    EndedMessage run(const std::string& script) {
        Jar jar = launch({"/bin/sh", "-c", script});
        drive(jar);
        EXPECT_FALSE(jar.failure()) << belljar::jar::name_of(jar.failure()->step);
        printed = read_all(output, mebibytes(1)).value();
        EXPECT_TRUE(removes_cgroup_soon(jar));
        return jar.outcome();
    }

    std::optional<TestCgroups> cgroups;
    const uid_t first_user = kFirstTestUser + 2 * static_cast<uid_t>(::getpid());
    const Fd init{::open(test_init_path().c_str(), O_PATH | O_CLOEXEC)};
    JarCgroups jars;
    jar::Nursery nursery;
    execution::Limits limits;
    Fd tools;  // of the next jar
    Fd input;
    Fd output;
    std::string printed;
};

TEST_F(JarTest, ATrivialCommandEndsByItself) {
    Jar jar = launch({"/bin/true"});
    EXPECT_EQ(jar.id(), 1U);
    drive(jar);
    EXPECT_FALSE(jar.failure());
    EXPECT_EQ(jar.outcome().jar, 1U);
    EXPECT_EQ(jar.outcome().exited, 1U);
    EXPECT_EQ(jar.outcome().wait_status, 0);
    EXPECT_EQ(jar.outcome().kill_reason, KillReason::None);
    EXPECT_GT(jar.outcome().wall_nanoseconds, 0U);
    EXPECT_TRUE(removes_cgroup_soon(jar));
}

void add_record(std::string& pack, jar::PackKind kind, std::string_view body) {
    jar::PackHeader header{};
    header.kind = kind;
    header.length = static_cast<std::uint32_t>(body.size());
    pack.append(reinterpret_cast<const char*>(&header), sizeof(header));
    pack.append(body);
}

// One file, as the server packs it.
Fd pack_of(std::string_view path, std::string_view content) {
    std::string pack;
    add_record(pack, jar::PackKind::File, path);
    add_record(pack, jar::PackKind::Data, content);
    add_record(pack, jar::PackKind::FileEnd, {});
    add_record(pack, jar::PackKind::End, {});
    return make_sealed_file("tools", pack).value();
}

TEST_F(JarTest, SeesTheToolsOfItsOwnPackAndCannotChangeThem) {
    tools = pack_of("one.py", "1");
    run("cat /tools/one.py; ls /tools; echo 2 > /tools/one.py; rm /tools/one.py; touch /tools/two");
    EXPECT_TRUE(printed.starts_with("1one.py\n")) << printed;
    EXPECT_EQ(std::ranges::count(printed, '\n'), 4) << printed;  // three refusals
    tools = pack_of("other.py", "2");
    run("ls /tools");
    EXPECT_EQ(printed, "other.py\n");
    tools.reset();
    run("ls /tools");
    EXPECT_EQ(printed, "");
}

TEST_F(JarTest, APackThatIsNoneMakesNoStage) {
    tools = make_sealed_file("tools", "not a pack at all, but longer than a head").value();
    EXPECT_EQ(nursery.stage_for({}, tools).error().sys_errno, EPROTO);
    tools = Fd(::open("/", O_PATH | O_CLOEXEC));
    EXPECT_FALSE(nursery.stage_for({}, tools));
    tools.reset();
    run("echo still");
    EXPECT_EQ(printed, "still\n");
}

TEST_F(JarTest, StagesAreMadeOnceAndOldOnesReplacedUnderLivingJars) {
    const Fd first = pack_of("first.py", "1");
    const auto stage_of = [this](const Fd& pack) { return nursery.stage_for({}, pack).value(); };
    const auto descriptors = [](pid_t process) {
        const std::string path = "/proc/" + std::to_string(process) + "/fd";
        return std::ranges::distance(std::filesystem::directory_iterator(path),
                                     std::filesystem::directory_iterator());
    };
    const std::uint32_t stage = stage_of(first);
    const auto held = descriptors(::getpid());
    const auto held_there = descriptors(nursery.pid());
    EXPECT_EQ(stage_of(first), stage);
    EXPECT_NE(stage_of(pack_of("second.py", "2")), stage);
    EXPECT_EQ(descriptors(::getpid()), held);
    EXPECT_EQ(descriptors(nursery.pid()), held_there);
    tools = duplicate(first.get()).value();
    Jar jar = launch({"/bin/sh", "-c", "read word; cat /tools/first.py"}, Input::Held);
    for (std::uint32_t index = 0; index < jar::kMostStages; ++index) {
        stage_of(pack_of("other.py", std::to_string(index)));
    }
    input.reset();
    drive(jar);
    EXPECT_EQ(read_all(output, mebibytes(1)).value(), "1");
    EXPECT_TRUE(removes_cgroup_soon(jar));
    tools = duplicate(first.get()).value();
    run("cat /tools/first.py");
    EXPECT_EQ(printed, "1");
}

TEST_F(JarTest, ItsRootHasNothingElse) {
    run("cd /; echo *; readlink data; cat /etc/group");
    std::istringstream words(printed.substr(0, printed.find('\n')));
    std::set<std::string> names{std::istream_iterator<std::string>(words), {}};
    // Which of these there are is the host's choice.
    std::erase_if(names, [](const std::string& name) {
        return name.starts_with("lib") || name == "bin" || name == "sbin";
    });
    const std::set<std::string> expected{"data", "dev",   "etc", "proc",
                                         "tmp",  "tools", "usr", "workspace"};
    EXPECT_EQ(names, expected);
    EXPECT_TRUE(printed.ends_with("\nworkspace\nguest:x:1000:\n")) << printed;
}

TEST_F(JarTest, TellsTheExitCodeAndTheSignal) {
    const int exited = run("exit 7").wait_status;
    EXPECT_TRUE(WIFEXITED(exited));
    EXPECT_EQ(WEXITSTATUS(exited), 7);
    const EndedMessage killed = run("kill -KILL $$");
    EXPECT_EQ(killed.exited, 1U);
    EXPECT_TRUE(WIFSIGNALED(killed.wait_status));
    EXPECT_EQ(WTERMSIG(killed.wait_status), SIGKILL);
    EXPECT_EQ(killed.kill_reason, KillReason::None) << "the guest did this, not we";
}

TEST_F(JarTest, ACommandThatDoesNotExistNamesTheStep) {
    Jar jar = launch({"/usr/bin/no-such-program"});
    drive(jar);
    ASSERT_TRUE(jar.failure());
    EXPECT_EQ(jar.failure()->jar, 1U);
    EXPECT_EQ(jar.failure()->step, Step::Execute);
    EXPECT_EQ(jar.failure()->sys_errno, ENOENT);
    EXPECT_TRUE(removes_cgroup_soon(jar));
}

TEST_F(JarTest, ACommandThatCannotBeExecutedNamesTheStep) {
    Jar jar = launch({"/etc/passwd"});
    drive(jar);
    ASSERT_TRUE(jar.failure());
    EXPECT_EQ(jar.failure()->step, Step::Execute);
    EXPECT_EQ(jar.failure()->sys_errno, EACCES);
    EXPECT_TRUE(removes_cgroup_soon(jar));
}

TEST_F(JarTest, TheDeadlineKills) {
    limits.timeout = milliseconds(100);
    const EndedMessage outcome = run("echo begun; exec sleep 1000");
    EXPECT_EQ(outcome.kill_reason, KillReason::Deadline);
    EXPECT_EQ(outcome.exited, 0U);
    EXPECT_GE(outcome.wall_nanoseconds, 100'000'000U);
    EXPECT_EQ(printed, "begun\n");
}

TEST_F(JarTest, TheFirstKillReasonCounts) {
    Jar jar = launch({"/bin/sleep", "1000"});
    jar.kill(KillReason::Cancelled);
    jar.kill(KillReason::Deadline);
    ASSERT_TRUE(is_readable(jar.exit_fd(), seconds(20)));
    ASSERT_TRUE(jar.on_exit());
    EXPECT_EQ(jar.outcome().kill_reason, KillReason::Cancelled);
    EXPECT_EQ(jar.outcome().exited, 0U);
    EXPECT_TRUE(removes_cgroup_soon(jar));
}

// Init ends those who would not stop to run: it must not have to wait until they all had theirs.
TEST_F(JarTest, WhatEndsABusyGuestDoesNotLetItGoFirst) {
    Jar jar = launch({"/bin/sh", "-c", "while :; do :; done"});
    const int before = ::sched_getscheduler(jar.pid());
    ASSERT_EQ(before & SCHED_RESET_ON_FORK, 0);
    jar.kill(KillReason::Deadline);
    ASSERT_TRUE(is_readable(jar.exit_fd(), seconds(20)));
    EXPECT_EQ(::sched_getscheduler(jar.pid()), before);
    ASSERT_TRUE(jar.on_exit());
    EXPECT_TRUE(removes_cgroup_soon(jar));
}

TEST_F(JarTest, AKillAfterTheEndChangesNothing) {
    Jar jar = launch({"/bin/true"});
    drive(jar);
    jar.kill(KillReason::Deadline);
    EXPECT_EQ(jar.outcome().kill_reason, KillReason::None);
    EXPECT_EQ(jar.outcome().exited, 1U);
    EXPECT_TRUE(removes_cgroup_soon(jar));
}

// The request for an identity is still in the socket when the jar is gone.
TEST_F(JarTest, ACancelInSetUpIsACancelAndNotAFailure) {
    Jar jar = launch({"/bin/true"});
    ASSERT_TRUE(is_readable(jar.report_fd(), seconds(20)));
    jar.kill(KillReason::Cancelled);
    ASSERT_TRUE(is_readable(jar.exit_fd(), seconds(20)));
    ASSERT_TRUE(jar.on_exit());
    EXPECT_FALSE(jar.failure()) << belljar::jar::name_of(jar.failure()->step);
    EXPECT_EQ(jar.outcome().kill_reason, KillReason::Cancelled);
    EXPECT_TRUE(removes_cgroup_soon(jar));
}

TEST_F(JarTest, NothingOfTheGuestOutlivesItsMainProcess) {
    const EndedMessage outcome = run("sleep 1000 & (sleep 1000 & setsid sleep 1000 &) ; exit 3");
    EXPECT_EQ(outcome.exited, 1U);
    EXPECT_EQ(WEXITSTATUS(outcome.wait_status), 3);
}

TEST_F(JarTest, TheGuestIsNobodyWithoutPower) {
    run("id -u; id -g; id -G; grep -E '^(Cap|NoNewPrivs|Groups)' /proc/self/status");
    std::istringstream lines(printed);
    std::string line;
    for (const std::string_view wanted : {"1000", "1000", "1000", "Groups:\t "}) {
        ASSERT_TRUE(std::getline(lines, line));
        EXPECT_EQ(line, wanted);
    }
    for (const std::string_view set : {"Inh", "Prm", "Eff", "Bnd", "Amb"}) {
        EXPECT_NE(printed.find("Cap" + std::string(set) + ":\t0000000000000000"), std::string::npos)
            << printed;
    }
    EXPECT_NE(printed.find("NoNewPrivs:\t1"), std::string::npos) << printed;
}

TEST_F(JarTest, TheGuestHasOnlyItsOwnDescriptors) {
    run("ls /proc/self/fd");
    std::istringstream words(printed);
    std::set<int> numbers;
    for (int number = 0; words >> number;) {
        numbers.insert(number);
    }
    // The seventh is the directory that ls reads.
    EXPECT_EQ(numbers, (std::set<int>{0, 1, 2, 3, 4, 5, 6}));
}

TEST_F(JarTest, TheGuestGetsItsEnvironmentAndNoOther) {
    ASSERT_EQ(::setenv("BELLJAR_TEST_SECRET", "visible", 1), 0);
    run("exec env");
    ::unsetenv("BELLJAR_TEST_SECRET");
    EXPECT_EQ(printed.find("SECRET"), std::string::npos) << printed;
    EXPECT_NE(printed.find("PATH=/usr/bin:/bin\n"), std::string::npos) << printed;
}

TEST_F(JarTest, TheGuestSeesOnlyTheJar) {
    run("pwd; hostname; ls -d /root /home /var /work /etc/shadow 2>/dev/null;"
        "ls /proc | grep -c '^[0-9]'; echo x > /workspace/f && echo x > /tmp/f && echo writable;"
        "echo x 2>/dev/null > /usr/f || echo sealed; echo x 2>/dev/null > /f || echo sealed");
    // Hidden from the guest: init, which is not its own. Left: the shell and its children.
    EXPECT_TRUE(printed.starts_with("/workspace\njar\n")) << printed;
    EXPECT_TRUE(printed.ends_with("writable\nsealed\nsealed\n")) << printed;
    EXPECT_EQ(printed.find("/root"), std::string::npos) << printed;
    EXPECT_EQ(printed.find("/etc/shadow"), std::string::npos) << printed;
}

TEST_F(JarTest, MemoryBeyondTheLimitIsCounted) {
    if ((jars.layers() & bit(Layer::MemoryLimit)) == 0) {
        GTEST_SKIP() << "this host has no memory controller for jars";
    }
    limits.memory = mebibytes(32);
    const EndedMessage outcome = run("head -c 200m /dev/zero | tail > /dev/null");
    EXPECT_GE(outcome.out_of_memory_kills, 1U);
    EXPECT_LE(outcome.memory_peak_bytes, mebibytes(33).count);
}

TEST_F(JarTest, ProcessesBeyondTheLimitAreCounted) {
    if ((jars.layers() & bit(Layer::ProcessLimit)) == 0) {
        GTEST_SKIP() << "this host has no pids controller for jars";
    }
    limits.processes = 6;
    const EndedMessage outcome =
        run("for n in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done 2>/dev/null; exit 1");
    EXPECT_GE(outcome.process_limit_hits, 1U);
    EXPECT_LE(outcome.processes_peak, 6U);
    EXPECT_GE(outcome.processes_peak, 3U);
}

TEST_F(JarTest, WhatIsWrittenIsCounted) {
    const EndedMessage outcome = run("head -c 1m /dev/zero > /workspace/file");
    EXPECT_GE(outcome.disk_used_bytes, mebibytes(1).count);
    EXPECT_LT(outcome.disk_used_bytes, mebibytes(2).count);
}

TEST_F(JarTest, TheWorkspaceIsBounded) {
    limits.workspace = mebibytes(1);
    run("head -c 4m /dev/zero > /workspace/a || echo refused;"
        "head -c 4m /dev/zero 2>/dev/null > /workspace/b || echo refused");
    EXPECT_NE(printed.find("refused"), std::string::npos) << printed;
}

}  // namespace
}  // namespace belljar::isolation
