#include "isolation/warden.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "isolation/test_init.h"

namespace belljar::isolation {
namespace {

const ConfigureMessage kConfiguration{.first_user_id = 1'800'000'000,
                                      .user_id_count = 1000,
                                      .server_pid = 0,
                                      .root_is_image = 0,
                                      .workspace_bytes = 16 << 20,
                                      .root = {},
                                      .tools = {},
                                      .scratch = to_host_path("/var/tmp").value()};
ConfigureMessage with_users(std::uint32_t first, std::uint32_t count) {
    ConfigureMessage configuration = kConfiguration;
    configuration.first_user_id = first;
    configuration.user_id_count = count;
    return configuration;
}

constexpr int kCouldNotStart = 2;
constexpr int kStopped = 1;

// The warden in a process of its own; the test plays the server.
class WardenTest : public testing::Test {
   protected:
    void SetUp() override {
        if (::geteuid() != 0) {
            GTEST_SKIP() << "jars can be made only by root";
        }
        jar::SocketPair sockets = jar::make_seqpacket_pair().value();
        warden = ::fork();
        ASSERT_GE(warden, 0);
        if (warden == 0) {
            sockets.first.reset();
            ::_exit(be_warden(std::move(sockets.second)));
        }
        server = std::move(sockets.first);
    }

    void TearDown() override {
        if (warden > 0) {
            stop();
        }
        // What a keeper does after a warden that had to stop.
        remove_stale_cgroup_trees();
    }

    static int be_warden(Fd socket) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0UL, 0UL, 0UL);
        const Fd nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        ::dup2(nothing.get(), STDERR_FILENO);
        const Log log("warden", LogLevel::Error);
        const Host host{.init = test_init_path()};
        auto made = Warden::create(std::move(socket), host, log);
        if (!made) {
            return kCouldNotStart;
        }
        return (*made)->run() ? 0 : kStopped;
    }

    void configure(ConfigureMessage configuration = kConfiguration) {
        configuration.server_pid = static_cast<std::uint32_t>(::getpid());
        ASSERT_TRUE(send_message(server, configuration));
    }

    void get_ready() {
        configure();
        const WardenMessage message = next();
        ASSERT_TRUE(std::holds_alternative<ReadyMessage>(message));
        layers = std::get<ReadyMessage>(message).layers;
    }

    WardenMessage next() {
        pollfd entry{.fd = server.get(), .events = POLLIN, .revents = 0};
        if (::poll(&entry, 1, 20'000) != 1) {
            ADD_FAILURE() << "the warden says nothing";
            return {};
        }
        Result<Packet> packet = jar::receive_packet(server);
        Result<WardenMessage> message = packet ? decode_warden_message(packet->data)
                                               : Result<WardenMessage>(fail(packet.error()));
        EXPECT_TRUE(message) << message.error().describe();
        return message.value_or(WardenMessage{});
    }

    void send_launch(const LaunchMessage& message, std::size_t descriptors = kGuestFdCount) {
        const Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
        const std::vector<int> numbers(descriptors, nothing.get());
        ASSERT_TRUE(send_message(server, message, numbers));
    }

    static LaunchMessage launch_of(JarId jar, std::vector<std::string> arguments) {
        return make_launch(jar, {.command = {.arguments = std::move(arguments)}}).value();
    }

    void expect_started(JarId jar) {
        const WardenMessage message = next();
        ASSERT_TRUE(std::holds_alternative<StartedMessage>(message)) << message.index();
        EXPECT_EQ(std::get<StartedMessage>(message).jar, jar);
    }

    void expect_refused(JarId jar) {
        const WardenMessage message = next();
        ASSERT_TRUE(std::holds_alternative<FailedMessage>(message)) << message.index();
        EXPECT_EQ(std::get<FailedMessage>(message).jar, jar);
        EXPECT_EQ(std::get<FailedMessage>(message).step, Step::ReadMessage);
    }

    EndedMessage expect_ended(JarId jar) {
        const WardenMessage message = next();
        EXPECT_TRUE(std::holds_alternative<EndedMessage>(message)) << message.index();
        const auto* ended = std::get_if<EndedMessage>(&message);
        EXPECT_EQ(ended != nullptr ? ended->jar : 0, jar);
        return ended != nullptr ? *ended : EndedMessage{};
    }

    // Closes the socket, as a server that ends does; the warden's exit code.
    int stop() {
        server.reset();
        int status = -1;
        EXPECT_EQ(::waitpid(std::exchange(warden, -1), &status, 0) > 0, true);
        EXPECT_TRUE(WIFEXITED(status)) << status;
        return WEXITSTATUS(status);
    }

    pid_t warden = -1;
    Fd server;
    std::uint32_t layers = 0;
};

TEST_F(WardenTest, SaysWhatHoldsAndEndsWithItsServer) {
    get_ready();
    EXPECT_NE(layers & static_cast<std::uint32_t>(Layer::Namespaces), 0U);
    EXPECT_NE(layers & static_cast<std::uint32_t>(Layer::NoCapabilities), 0U);
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

TEST_F(WardenTest, AServerThatGoesAwayTakesItsJarsWithIt) {
    get_ready();
    send_launch(launch_of(1, {"/bin/sleep", "1000"}));
    expect_started(1);
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

TEST_F(WardenTest, RefusesMalformedLaunches) {
    get_ready();
    send_launch(launch_of(1, {"/bin/true"}), kGuestFdCount - 1);
    expect_refused(1);
    send_launch(launch_of(2, {"/bin/true"}), 0);
    expect_refused(2);
    send_launch(launch_of(3, {"/bin/true"}), kGuestFdCount + 1);
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

TEST_F(WardenTest, IsConfiguredOnce) {
    get_ready();
    configure();
    EXPECT_EQ(stop(), kStopped);
}

TEST_F(WardenTest, DoesNotStartWithUserIdsOfTheHost) {
    configure(with_users(0, 1000));
    EXPECT_EQ(stop(), kCouldNotStart);
}

TEST_F(WardenTest, DoesNotStartWithoutUserIds) {
    configure(with_users(1'800'000'000, 0));
    EXPECT_EQ(stop(), kCouldNotStart);
}

TEST_F(WardenTest, DoesNotStartWithUserIdsThatWrapAround) {
    configure(with_users(UINT32_MAX - 10, 100));
    EXPECT_EQ(stop(), kCouldNotStart);
}

TEST_F(WardenTest, DoesNotStartWithAnotherMessageFirst) {
    ASSERT_TRUE(send_message(server, KillMessage{.jar = 1, .reason = KillReason::None}));
    EXPECT_EQ(stop(), kCouldNotStart);
}

}  // namespace
}  // namespace belljar::isolation
