#include "isolation/warden.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/id.h"
#include "isolation/test_warden.h"
#include "jar/pack_stream.h"

namespace belljar::isolation {
namespace {

using cgroup::becomes_true;
using cgroup::read_number;
using cgroup::read_words;
using cgroup::TestCgroups;

bool is_readable(const Fd& fd) {
    pollfd entry{.fd = fd.get(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, 0) == 1;
}

TEST_F(WardenTest, SaysWhatHoldsAndEndsWithItsServer) {
    get_ready();
    EXPECT_EQ(ready.mode, jar::Mode::Root);
    for (const Layer layer : {Layer::Namespaces, Layer::NoCapabilities, Layer::UniqueUser,
                              Layer::ReadOnlyRoot, Layer::Seccomp, Layer::DiskQuota}) {
        EXPECT_TRUE(holds(layer)) << bit(layer);
    }
    EXPECT_EQ(holds(Layer::Landlock), host.landlock_abi > 0);
    const std::uint32_t limits =
        bit(Layer::MemoryLimit) | bit(Layer::ProcessLimit) | bit(Layer::CpuShare);
    EXPECT_EQ(ready.layers & limits, cgroups->jars().layers());
    EXPECT_EQ(stop(), 0);
}

TEST_F(WardenTest, PromisesNothingThatTheHostLacks) {
    host.tree_count = 0;
    host.landlock_abi = 0;
    host.user_count = 0;
    get_ready();
    for (const Layer layer :
         {Layer::MemoryLimit, Layer::CpuShare, Layer::Landlock, Layer::UniqueUser}) {
        EXPECT_FALSE(holds(layer)) << bit(layer);
    }
    EXPECT_TRUE(holds(Layer::ProcessLimit)) << "by RLIMIT_NPROC in a user namespace";
    EXPECT_EQ(stop(), 0);
}

TEST_F(WardenTest, RunsOneJarAfterAnother) {
    get_ready();
    for (JarId jar = 1; jar <= 3; ++jar) {
        send_launch(launch_of(jar, {"/bin/sh", "-c", "exit 4"}));
        expect_started(jar);
        const EndedMessage ended = expect_ended(jar);
        EXPECT_EQ(ended.exited, 1U);
        EXPECT_EQ(WEXITSTATUS(ended.wait_status), 4);
    }
    EXPECT_EQ(stop(), 0);
}

TEST_F(WardenTest, KillsTheJarItIsToldTo) {
    get_ready();
    send_launch(launch_of(1, {"/bin/sleep", "1000"}));
    expect_started(1);
    ASSERT_TRUE(send_message(server, KillMessage{.jar = 77, .reason = KillReason::Output}));
    ASSERT_TRUE(send_message(server, KillMessage{.jar = 1, .reason = KillReason::Output}));
    const EndedMessage ended = expect_ended(1);
    EXPECT_EQ(ended.kill_reason, KillReason::Output);
    EXPECT_EQ(ended.exited, 0U);
    EXPECT_EQ(stop(), 0);
}

TEST_F(WardenTest, EnforcesDeadlinesItself) {
    get_ready();
    LaunchMessage message = launch_of(1, {"/bin/sleep", "1000"});
    message.timeout_nanoseconds = 50'000'000;
    send_launch(message);
    expect_started(1);
    EXPECT_EQ(expect_ended(1).kill_reason, KillReason::Deadline);
}

// A jar whose run has not begun, as the tests below use it.
LaunchMessage waiting_launch(JarId jar, std::vector<std::string> arguments) {
    execution::Limits limits;
    limits.timeout = std::chrono::milliseconds(20);
    limits.cpu = 0.01;
    LaunchMessage message =
        make_launch(jar, {.command = {.arguments = std::move(arguments)}, .limits = limits})
            .value();
    message.waits = 1;
    return message;
}

constexpr StartMessage kStart{.jar = 1,
                              .timeout_nanoseconds = 150'000'000,
                              .memory_bytes = 64U << 20U,
                              .cpu_thousandths = 500,
                              .cell = 0,
                              .keeps_files = 0};

TEST_F(WardenTest, AJarThatWaitsHasNoClockUntilItIsTold) {
    get_ready();
    send_launch(waiting_launch(1, {"/bin/sleep", "1000"}));
    expect_started(1);
    pollfd entry{.fd = server.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&entry, 1, 200), 0) << "longer than the time it was made with";
    ASSERT_TRUE(send_message(server, kStart));
    const EndedMessage ended = expect_ended(1);
    EXPECT_EQ(ended.kill_reason, KillReason::Deadline);
    EXPECT_GE(ended.wall_nanoseconds, 150'000'000U);
    EXPECT_LT(ended.wall_nanoseconds, 340'000'000U) << "the waiting is no part of the run";
    EXPECT_EQ(stop(), 0);
}

TEST_F(WardenTest, ARunBeginsOnce) {
    get_ready();
    send_launch(waiting_launch(1, {"/bin/sleep", "1000"}));
    ASSERT_TRUE(send_message(server, kStart)) << "before it is made: the clock waits for that";
    expect_started(1);
    StartMessage later = kStart;
    later.timeout_nanoseconds = 1'000'000'000'000;
    ASSERT_TRUE(send_message(server, later));
    EXPECT_EQ(expect_ended(1).kill_reason, KillReason::Deadline);
    ASSERT_TRUE(send_message(server, kStart)) << "a jar that has ended";
    send_launch(launch_of(2, {"/bin/sh", "-c", "sleep 0.3"}));
    expect_started(2);
    StartMessage other = kStart;
    other.jar = 2;
    other.timeout_nanoseconds = 1;
    ASSERT_TRUE(send_message(server, other)) << "a jar that does not wait";
    EXPECT_EQ(expect_ended(2).kill_reason, KillReason::None);
    EXPECT_EQ(stop(), 0);
}

TEST_F(WardenTest, AJarThatWaitsCanBeKilled) {
    get_ready();
    send_launch(waiting_launch(1, {"/bin/sleep", "1000"}));
    expect_started(1);
    ASSERT_TRUE(send_message(server, KillMessage{.jar = 1, .reason = KillReason::Cancelled}));
    ASSERT_TRUE(send_message(server, kStart));
    EXPECT_EQ(expect_ended(1).kill_reason, KillReason::Cancelled);
    EXPECT_EQ(stop(), 0);
}

// 48 MiB are more than the one and less than the other.
TEST_F(WardenTest, ARunHasTheMemoryThatItsStartSays) {
    get_ready();
    if (!holds(Layer::MemoryLimit)) {
        GTEST_SKIP() << "this host has no memory controller for jars";
    }
    const std::string program = "import sys; sys.stdin.read(); len(b'x' * (48 << 20))";
    for (const auto& [made, started, fits] : {std::tuple{32U, 256U, true}, {256U, 32U, false}}) {
        Pipe input = make_pipe().value();
        const Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
        std::vector<int> numbers(kGuestFdCount, nothing.get());
        numbers[0] = input.read_end.get();
        LaunchMessage message = waiting_launch(1, {"/usr/bin/python3", "-c", program});
        message.memory_bytes = mebibytes(made).count;
        ASSERT_TRUE(send_message(server, message, numbers));
        expect_started(1);
        StartMessage start = kStart;
        start.timeout_nanoseconds = 20'000'000'000;
        start.memory_bytes = mebibytes(started).count;
        ASSERT_TRUE(send_message(server, start));
        input.write_end.reset();
        const EndedMessage ended = expect_ended(1);
        EXPECT_EQ(ended.exited == 1 && ended.wait_status == 0, fits) << started;
        const bool ran_out =
            ended.out_of_memory_kills > 0 || ended.kill_reason == KillReason::Memory;
        EXPECT_EQ(ran_out, !fits) << started;
    }
    EXPECT_EQ(stop(), 0);
}

TEST_F(WardenTest, TheTimeOnTheProcessorCountsFromTheStart) {
    get_ready();
    if (!holds(Layer::CpuShare)) {
        GTEST_SKIP() << "this host has no processor controller for jars";
    }
    Pipe input = make_pipe().value();
    Pipe output = make_pipe().value();
    std::vector<int> numbers(kGuestFdCount, output.write_end.get());
    numbers[0] = input.read_end.get();
    const std::string program =
        "import sys, time\nwhile time.process_time() < 0.3: pass\nprint(1, flush=True)\n"
        "sys.stdin.read()";
    ASSERT_TRUE(
        send_message(server, waiting_launch(1, {"/usr/bin/python3", "-c", program}), numbers));
    expect_started(1);
    ASSERT_TRUE(
        becomes_true([&] { return is_readable(output.read_end); }, std::chrono::minutes(1)));
    StartMessage start = kStart;
    start.timeout_nanoseconds = 20'000'000'000;
    ASSERT_TRUE(send_message(server, start));
    input.write_end.reset();
    EXPECT_LT(expect_ended(1).cpu_nanoseconds, 250'000'000U);
    EXPECT_EQ(stop(), 0);
}

// What the courier of a jar sends.
class SentFiles final : public jar::PackSink {
   public:
    Result<void> on_entry(const jar::PackedEntry& entry) override {
        paths += entry.path;
        return {};
    }
    Result<void> on_data(std::string_view data) override {
        content += data;
        return {};
    }

    std::string paths;
    std::string content;
};

class FilesWardenTest : public WardenTest {
   protected:
    void expect_files_of(const std::string& program);
};

void FilesWardenTest::expect_files_of(const std::string& program) {
    get_ready();
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    const Fd ours(ends[0]);
    Fd theirs(ends[1]);
    const Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    std::vector<int> numbers(kGuestFdCount, nothing.get());
    numbers.push_back(theirs.get());
    ASSERT_TRUE(send_message(server, waiting_launch(1, {"/bin/sh", "-c", program}), numbers));
    theirs.reset();
    expect_started(1);
    const TimePoint deadline = Clock::now() + std::chrono::seconds(20);
    jar::PackWriter writer(ours, deadline);
    ASSERT_TRUE(writer.entry({.kind = jar::PackKind::End, .number = 1000}));
    ASSERT_TRUE(writer.flush());
    SentFiles answer;
    ASSERT_TRUE(jar::receive_pack(ours, answer, deadline));
    StartMessage start = kStart;
    start.timeout_nanoseconds = 1'000'000'000;
    start.keeps_files = 1;
    ASSERT_TRUE(send_message(server, start));
    SentFiles sent;
    ASSERT_TRUE(jar::receive_pack(ours, sent, deadline));
    EXPECT_EQ(sent.paths, "x");
    EXPECT_EQ(sent.content, "kept\n");
    EXPECT_EQ(expect_ended(1).kill_reason, KillReason::Deadline);
    EXPECT_EQ(stop(), 0);
}

TEST_F(FilesWardenTest, ARunThatKeepsFilesHasTheTimeToSendThem) {
    expect_files_of("echo kept > x; while :; do :; done");
}

// Where the kernel does not keep its signals from init, they stand in the queue of init's own.
TEST_F(FilesWardenTest, AGuestThatSendsSignalsToItsInitEndsInTimeAllTheSame) {
    host.landlock_abi = 0;
    expect_files_of(
        "echo kept > x; for n in 1 2 3; do while :; do kill -TERM 1; done & done; wait");
}

TEST_F(WardenTest, StopsAtAStartWithoutTime) {
    get_ready();
    StartMessage start = kStart;
    start.timeout_nanoseconds = 0;
    ASSERT_TRUE(send_message(server, start));
    EXPECT_EQ(stop(), kStopped);
}

TEST_F(WardenTest, AServerThatGoesAwayTakesItsJarsWithIt) {
    get_ready();
    send_launch(launch_of(1, {"/bin/sleep", "1000"}));
    expect_started(1);
    send_launch(waiting_launch(3, {"/bin/sleep", "1000"}));
    send_launch(launch_of(2, {"/bin/sleep", "1000"}));
    EXPECT_EQ(stop(), 0) << "every jar ended and every cgroup is removed";
}

TEST_F(WardenTest, NamesTheStepThatFailed) {
    get_ready();
    send_launch(launch_of(1, {"/no/such/program"}));
    expect_started(1);
    const WardenMessage message = next();
    ASSERT_TRUE(std::holds_alternative<FailedMessage>(message));
    EXPECT_EQ(std::get<FailedMessage>(message).step, Step::Execute);
    EXPECT_EQ(std::get<FailedMessage>(message).sys_errno, ENOENT);
}

std::vector<pid_t> children_of(pid_t parent) {
    std::vector<pid_t> children;
    for (const std::string& word : read_words("/proc/" + std::to_string(parent) + "/task/" +
                                              std::to_string(parent) + "/children")) {
        children.push_back(std::atoi(word.c_str()));
    }
    return children;
}

// Only an id that the jar's user namespace knows can have a file there.
void make_file_as_owner(const std::string& directory, const std::string& name) {
    struct stat status{};
    ASSERT_EQ(::stat(directory.c_str(), &status), 0);
    ::setfsgid(status.st_gid);
    ::setfsuid(status.st_uid);
    const Fd file(::open((directory + "/" + name).c_str(), O_CREAT | O_CLOEXEC, 0600));
    ::setfsuid(::geteuid());
    ::setfsgid(::getegid());
    EXPECT_TRUE(file.valid());
}

std::vector<pid_t> inits_of(pid_t warden) {
    std::vector<pid_t> found = children_of(warden);
    std::erase_if(found, [](pid_t child) {
        return read_words("/proc/" + std::to_string(child) + "/comm") !=
               std::vector<std::string>{"belljar-jar"};
    });
    return found;
}

// Its guest has ended, and it waits for what the warden says to that.
bool has_told_all(pid_t init) {
    const std::string stat = "/proc/" + std::to_string(init) + "/stat";
    return becomes_true([&] { return children_of(init).empty() && read_words(stat).at(2) == "S"; },
                        std::chrono::seconds(20));
}

// The end of a run, and what the server said before it began, behind something else.
TEST_F(WardenTest, AStartIsHeardBeforeTheEndOfItsRun) {
    constexpr auto kWaits = std::chrono::milliseconds(300);
    get_ready();
    Pipe input = make_pipe().value();
    const Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    std::vector<int> numbers(kGuestFdCount, nothing.get());
    numbers[0] = input.read_end.get();
    ASSERT_TRUE(send_message(server, waiting_launch(1, {"/bin/sh", "-c", "read go"}), numbers));
    input.read_end.reset();
    expect_started(1);
    std::this_thread::sleep_for(kWaits);
    const std::vector<pid_t> inits = inits_of(warden);
    ASSERT_EQ(inits.size(), 1U);
    ASSERT_EQ(::kill(warden, SIGSTOP), 0);
    for (JarId jar = 2; jar < 6; ++jar) {
        send_launch(launch_of(jar, {"/bin/sleep", "1000"}));
    }
    ASSERT_TRUE(send_message(server, kStart));
    input.write_end.reset();
    EXPECT_TRUE(has_told_all(inits.front()));
    ASSERT_EQ(::kill(warden, SIGCONT), 0);
    WardenMessage message = next();
    while (std::holds_alternative<StartedMessage>(message)) {
        message = next();
    }
    ASSERT_TRUE(std::holds_alternative<EndedMessage>(message)) << message.index();
    EXPECT_EQ(std::get<EndedMessage>(message).jar, 1U);
    const std::uint64_t took = std::get<EndedMessage>(message).wall_nanoseconds;
    EXPECT_GT(took, 0U) << "it began after its end";
    EXPECT_LT(took, static_cast<std::uint64_t>(Duration(kWaits).count())) << "it never began";
    EXPECT_EQ(stop(), 0);
}

// Both are there before the warden looks: the order to end, and behind it one more launch.
TEST_F(WardenTest, NothingIsLaunchedOnceItHasToEnd) {
    get_ready();
    ASSERT_EQ(::kill(warden, SIGSTOP), 0);
    ASSERT_EQ(::kill(warden, kKeeperGone), 0);
    send_launch(waiting_launch(1, {"/bin/sleep", "1000"}));
    server.reset();
    ASSERT_EQ(::kill(warden, SIGCONT), 0);
    int status = -1;
    const auto has_ended = [&] { return ::waitpid(warden, &status, WNOHANG) == warden; };
    EXPECT_TRUE(becomes_true(has_ended, std::chrono::seconds(20)));
    if (status == -1) {
        ::kill(warden, SIGKILL);
        ::waitpid(warden, nullptr, 0);
    }
    warden = -1;
    EXPECT_EQ(status, 0);
}

// The reports and the end of a jar are all there before the warden looks.
TEST_F(WardenTest, AReportJustBeforeTheEndIsNotLost) {
    get_ready();
    Pipe output = make_pipe().value();
    const std::vector<int> numbers(kGuestFdCount, output.write_end.get());
    const LaunchMessage message = launch_of(
        1, {"/bin/sh", "-c", "while test ! -e go; do :; done; unshare -m true; chroot / true"});
    ASSERT_TRUE(send_message(server, message, numbers));
    output.write_end.reset();
    expect_started(1);
    const std::vector<pid_t> inits = inits_of(warden);
    ASSERT_EQ(inits.size(), 1U);
    ASSERT_EQ(::kill(warden, SIGSTOP), 0);
    const std::string init = "/proc/" + std::to_string(inits.front());
    make_file_as_owner(init + "/root/workspace", "go");
    // It has said everything when it waits for the warden, and then loses its life.
    EXPECT_TRUE(has_told_all(inits.front()));
    ASSERT_EQ(::kill(inits.front(), SIGKILL), 0);
    EXPECT_TRUE(becomes_true([&] { return read_words(init + "/stat").at(2) == "Z"; },
                             std::chrono::seconds(20)));
    ASSERT_EQ(::kill(warden, SIGCONT), 0);
    for (int count = 0; count < 2; ++count) {
        const WardenMessage denied = next();
        EXPECT_TRUE(std::holds_alternative<DeniedMessage>(denied)) << denied.index();
    }
    EXPECT_EQ(expect_ended(1).exited, 1U);
    EXPECT_EQ(stop(), 0);
}

TEST_F(WardenTest, RefusesMalformedLaunches) {
    get_ready();
    send_launch(launch_of(1, {"/bin/true"}), kGuestFdCount - 1);
    expect_refused(1);
    send_launch(launch_of(2, {"/bin/true"}), 0);
    expect_refused(2);
    send_launch(launch_of(3, {"/bin/true"}), kGuestFdCount + 2);
    expect_refused(3);
    LaunchMessage message = launch_of(4, {"/bin/true"});
    message.command.argument_count = 0;
    send_launch(message);
    expect_refused(4);
    for (const std::int64_t timeout : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN}) {
        message = launch_of(5, {"/bin/true"});
        message.timeout_nanoseconds = timeout;
        send_launch(message);
        expect_refused(5);
    }
    message = launch_of(5, {"/bin/true"});
    message.waits = 2;
    send_launch(message);
    expect_refused(5);
    message = launch_of(5, {"/bin/true"});
    message.in_memory = 2;
    send_launch(message);
    expect_refused(5);
    const JarId beyond = JarId{1} << 61U;
    send_launch(launch_of(beyond, {"/bin/true"}));
    expect_refused(beyond);
    send_launch(launch_of(6, {"/bin/true"}));
    expect_started(6);
    EXPECT_EQ(expect_ended(6).exited, 1U);
    EXPECT_EQ(stop(), 0);
}

// The longest timeout there is must not wrap around into the past.
TEST_F(WardenTest, AnAbsurdTimeoutIsNotADeadlineInThePast) {
    get_ready();
    LaunchMessage message = launch_of(1, {"/bin/sh", "-c", "sleep 0.2"});
    message.timeout_nanoseconds = INT64_MAX;
    send_launch(message);
    const WardenMessage first = next();
    if (std::holds_alternative<StartedMessage>(first)) {
        EXPECT_EQ(expect_ended(1).kill_reason, KillReason::None);
    } else {
        EXPECT_TRUE(std::holds_alternative<FailedMessage>(first));
    }
}

TEST_F(WardenTest, StopsAtAMessageThatMakesNoSense) {
    get_ready();
    const std::byte nonsense{0x7F};
    ASSERT_TRUE(jar::send_packet(server, std::span(&nonsense, 1), {}));
    EXPECT_EQ(stop(), kStopped);
}

TEST_F(WardenTest, StopsAtAnUnknownKillReason) {
    get_ready();
    ASSERT_TRUE(send_message(server, KillMessage{.jar = 1, .reason = static_cast<KillReason>(99)}));
    EXPECT_EQ(stop(), kStopped);
}

// The keeper has read it; to the warden it makes no sense.
TEST_F(WardenTest, StopsAtAConfiguration) {
    get_ready();
    ASSERT_TRUE(send_message(server, ConfigureMessage{}));
    EXPECT_EQ(stop(), kStopped);
}

TEST_F(WardenTest, DoesNotStartWithoutAKeeper) {
    keeper.reset();
    EXPECT_EQ(stop(), kCouldNotStart);
}

TEST_F(WardenTest, DoesNotStartWithAMessageOfAnotherSize) {
    const auto said = std::as_bytes(std::span(&host, 1));
    ASSERT_TRUE(jar::send_packet(keeper, said.first(said.size() - 1), {}));
    EXPECT_EQ(stop(), kCouldNotStart);
}

TEST_F(WardenTest, DoesNotStartWithMoreTreesThanThereIsRoomFor) {
    host.tree_count = kMostTrees + 1;
    tell_host();
    EXPECT_EQ(stop(), kCouldNotStart);
}

TEST_F(WardenTest, DoesNotStartWithoutItsInit) {
    host.init = to_host_path("/no/such/belljar-init").value();
    tell_host();
    EXPECT_EQ(stop(), kCouldNotStart);
}

TEST_F(WardenTest, AKeeperThatDiesTakesTheJarsWithIt) {
    get_ready();
    send_launch(launch_of(1, {"/bin/sleep", "1000"}));
    expect_started(1);
    ASSERT_EQ(::kill(warden, kKeeperGone), 0);
    int status = -1;
    ASSERT_EQ(::waitpid(std::exchange(warden, -1), &status, 0) > 0, true);
    EXPECT_EQ(status, 0);
}

TEST_F(WardenTest, RefusesAJarThatThereIsAlready) {
    get_ready();
    send_launch(launch_of(1, {"/bin/sleep", "1000"}));
    expect_started(1);
    send_launch(launch_of(1, {"/bin/true"}));
    expect_refused(1);
    ASSERT_TRUE(send_message(server, KillMessage{.jar = 1, .reason = KillReason::Output}));
    EXPECT_EQ(expect_ended(1).kill_reason, KillReason::Output) << "the first one was not touched";
    EXPECT_EQ(stop(), 0);
}

TEST_F(WardenTest, NoTwoJarsHaveTheSameUser) {
    host.user_count = 2;
    get_ready();
    send_launch(launch_of(1, {"/bin/sleep", "1000"}));
    expect_started(1);
    send_launch(launch_of(2, {"/bin/sleep", "1000"}));
    expect_started(2);
    send_launch(launch_of(3, {"/bin/true"}));
    expect_refused(3);
    ASSERT_TRUE(send_message(server, KillMessage{.jar = 1, .reason = KillReason::Cancelled}));
    EXPECT_EQ(expect_ended(1).kill_reason, KillReason::Cancelled);
    // The id is free again when the cgroup is gone, a moment after the end was told.
    const auto launches = [this] {
        send_launch(launch_of(4, {"/bin/true"}));
        return std::holds_alternative<StartedMessage>(next());
    };
    EXPECT_TRUE(becomes_true(launches, std::chrono::seconds(20)));
    EXPECT_EQ(expect_ended(4).exited, 1U);
    EXPECT_EQ(stop(), 0);
}

}  // namespace
}  // namespace belljar::isolation
