#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cgroup/test_cgroups.h"
#include "isolation/test_init.h"
#include "isolation/warden.h"
#include "jar/landlock.h"

namespace belljar::isolation {

inline constexpr int kCouldNotStart = 2;
inline constexpr int kStopped = 1;
inline constexpr std::uint32_t kFirstUser = 1'800'000'000;

// The warden in a process of its own; the test plays the server and the keeper.
class WardenTest : public testing::Test {
   protected:
    void SetUp() override {
        if (::geteuid() != 0) {
            GTEST_SKIP() << "jars can be made only by root";
        }
        cgroups.emplace();
        host = describe_host();
        jar::SocketPair sockets = jar::make_seqpacket_pair().value();
        jar::SocketPair keepers = jar::make_seqpacket_pair().value();
        warden = ::fork();
        ASSERT_GE(warden, 0);
        if (warden == 0) {
            sockets.first.reset();
            keepers.first.reset();
            ::_exit(be_warden(std::move(sockets.second), std::move(keepers.second)));
        }
        server = std::move(sockets.first);
        keeper = std::move(keepers.first);
    }

    void TearDown() override {
        if (warden > 0) {
            stop();
        }
        // What a keeper does after a warden that had to stop.
        EXPECT_TRUE(!cgroups || cgroups->remove());
    }

    static int be_warden(Fd socket, const Fd& keeper_socket) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0UL, 0UL, 0UL);
        const Fd nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        ::dup2(nothing.get(), STDERR_FILENO);
        const Log log("warden", LogLevel::Error);
        auto made = Warden::create(std::move(socket), keeper_socket, log);
        if (!made) {
            return kCouldNotStart;
        }
        return (*made)->run() ? 0 : kStopped;
    }

    [[nodiscard]] HostMessage describe_host() const {
        HostMessage message{};
        message.mode = jar::Mode::Root;
        message.first_user = kFirstUser;
        message.user_count = 1000;
        message.landlock_abi = jar::find_landlock_abi();
        message.small_workspaces = 1;
        message.init = to_host_path(test_init_path()).value();
        message.scratch = to_host_path("/var/tmp").value();
        for (const std::string& path : cgroups->paths()) {
            message.trees.at(message.tree_count++) = to_host_path(path).value();
        }
        return message;
    }

    // What the keeper says; it is not heard of again unless it dies.
    void tell_host() {
        const auto said = std::as_bytes(std::span(&host, 1));
        ASSERT_TRUE(jar::send_packet(keeper, said, {}));
        keeper.reset();
    }

    void get_ready() {
        tell_host();
        const WardenMessage message = next();
        ASSERT_TRUE(std::holds_alternative<ReadyMessage>(message));
        ready = std::get<ReadyMessage>(message);
    }

    [[nodiscard]] bool holds(Layer layer) const { return (ready.layers & bit(layer)) != 0; }

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
        WardenMessage message = next();
        while (std::holds_alternative<DeniedMessage>(message)) {
            message = next();
        }
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

    std::optional<cgroup::TestCgroups> cgroups;
    HostMessage host{};
    pid_t warden = -1;
    Fd server;
    Fd keeper;
    ReadyMessage ready{};
};

}  // namespace belljar::isolation
