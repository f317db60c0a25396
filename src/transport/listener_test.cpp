#include "transport/listener.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace belljar::transport {
namespace {

class ListenerTest : public testing::Test {
   protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "listener-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        directory = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(directory); }

    [[nodiscard]] std::string path() const { return directory + "/socket"; }
    Result<Listener> open() { return Listener::open_unix(context.get_executor(), path()); }

    asio::io_context context;
    std::string directory;
};

TEST_F(ListenerTest, UnixSocketIsForOwnerAndGroupAndGoesWithTheListener) {
    {
        const Result<Listener> listener = open();
        ASSERT_TRUE(listener) << listener.error().describe();
        struct stat status{};
        ASSERT_EQ(::lstat(path().c_str(), &status), 0);
        EXPECT_TRUE(S_ISSOCK(status.st_mode));
        EXPECT_EQ(status.st_mode & 0777U, 0660U);
        EXPECT_TRUE(listener->is_unix());
        EXPECT_TRUE(listener->is_local());
        EXPECT_EQ(listener->port(), 0);
    }
    EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(ListenerTest, WhatIsLeftOfADeadServerIsReplaced) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    {
        const Fd dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    }
    ASSERT_TRUE(std::filesystem::exists(path()));
    EXPECT_TRUE(open());
}

TEST_F(ListenerTest, ALivingServerIsLeftAlone) {
    const Result<Listener> first = open();
    ASSERT_TRUE(first);
    const Result<Listener> second = open();
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::Conflict);
    EXPECT_TRUE(std::filesystem::exists(path()));
}

TEST_F(ListenerTest, WhatIsNoSocketIsLeftAlone) {
    std::filesystem::create_directory(path());
    EXPECT_FALSE(open());
    EXPECT_TRUE(std::filesystem::is_directory(path()));
    EXPECT_FALSE(
        Listener::open_unix(context.get_executor(), directory + "/" + std::string(200, 'x')));
}

TEST_F(ListenerTest, AdoptsOnlyListeningStreamSockets) {
    EXPECT_FALSE(Listener::adopt(context.get_executor(),
                                 Fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0))));
    EXPECT_FALSE(Listener::adopt(context.get_executor(),
                                 Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))));
    EXPECT_FALSE(Listener::adopt(context.get_executor(), make_pipe().value().read_end));
    Fd listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::listen(listening.get(), 1), 0);
    const Result<Listener> adopted = Listener::adopt(context.get_executor(), std::move(listening));
    ASSERT_TRUE(adopted);
    EXPECT_GT(adopted->port(), 0);
    EXPECT_FALSE(adopted->is_local());
}

TEST_F(ListenerTest, KnowsWhoIsAtTheOtherEnd) {
    Result<Listener> listener = open();
    ASSERT_TRUE(listener);
    Socket client(context);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    client.connect(asio::generic::stream_protocol::endpoint(&address, sizeof(address)));
    Socket accepted = listener->acceptor().accept();
    const Peer peer = peer_of(accepted);
    EXPECT_EQ(peer.address, "unix");
    EXPECT_EQ(peer.arrival, access::Arrival::UnixSocket);
}

TEST(PassedSockets, OnlyThoseMeantForThisProcess) {
    ::setenv("LISTEN_PID", "1", 1);
    ::setenv("LISTEN_FDS", "2", 1);
    EXPECT_TRUE(take_passed_sockets().value().empty());
    EXPECT_EQ(std::getenv("LISTEN_FDS"), nullptr);
    ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
    ::setenv("LISTEN_FDS", "100000", 1);
    EXPECT_FALSE(take_passed_sockets().has_value());
    ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
    ::setenv("LISTEN_FDS", "many", 1);
    EXPECT_TRUE(take_passed_sockets().value().empty());
}

}  // namespace
}  // namespace belljar::transport
