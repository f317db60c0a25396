#include "engine/zygotes.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <variant>
#include <vector>

#include "engine/test_runners.h"

namespace belljar::engine {
namespace {

class ZygotesTest : public testing::Test {
   protected:
    void SetUp() override {
        asio::co_spawn(context, link.listen(), [](const std::exception_ptr&) {});
    }
    void TearDown() override {
        link.close();
        settle();
    }

    void start(Zygotes::Lifetime lifetime) {
        zygotes.emplace(
            context.get_executor(), link, log, lifetime,
            [this](const runner::Manifest*, std::uint32_t zygote) { return try_out(zygote); });
        zygotes->start(runners.all());
        settle();
    }

    Task<Result<void>> try_out(std::uint32_t zygote) {
        tried.push_back(zygote);
        co_return holds ? Result<void>{} : fail(ErrorCode::Unavailable, "the jar does not hold");
    }

    // Takes what was said to the warden, whom the test plays.
    void settle() {
        context.restart();
        context.poll();
        for (pollfd entry{.fd = warden.get(), .events = POLLIN, .revents = 0};
             ::poll(&entry, 1, 0) == 1;) {
            const isolation::Packet packet = jar::receive_packet(warden).value();
            if (packet.data.empty()) {
                return;
            }
            const auto message = isolation::decode_server_message(packet.data).value();
            if (const auto* started = std::get_if<isolation::ZygoteMessage>(&message)) {
                ordered.push_back(started->zygote);
                EXPECT_EQ(packet.fds.size(), 1U) << "its program";
            } else if (const auto* retired_one = std::get_if<isolation::RetireMessage>(&message)) {
                retired.push_back(retired_one->zygote);
            }
        }
    }

    void say(std::uint32_t zygote, std::uint32_t ready) {
        const isolation::ZygoteStateMessage state{.zygote = zygote, .ready = ready};
        ASSERT_TRUE(isolation::send_message(warden, state));
        settle();
    }

    std::uint32_t take() {
        const std::uint32_t taken = zygotes->take(python);
        settle();
        return taken;
    }

    using Ids = std::vector<std::uint32_t>;

    asio::io_context context;
    Log log{"test", LogLevel::Error};
    jar::SocketPair sockets = jar::make_seqpacket_pair().value();
    Fd warden = std::move(sockets.second);
    WardenLink link{context.get_executor(), std::move(sockets.first), log};
    runner::Runners runners = only_python();
    const runner::Manifest& python = *runners.find("python");
    std::optional<Zygotes> zygotes;
    bool holds = true;
    Ids ordered, retired, tried;
};

TEST_F(ZygotesTest, NobodyForksBeforeItWasTried) {
    start({});
    EXPECT_EQ(ordered, Ids{1});
    EXPECT_EQ(take(), 0U);
    say(1, 1);
    EXPECT_EQ(tried, Ids{1});
    EXPECT_EQ(take(), 1U);
}

TEST_F(ZygotesTest, TheFirstIsAwaitedUntilItIsReadyOrGone) {
    int changes = 0;
    start({});
    zygotes->on_change([&changes] { ++changes; });
    EXPECT_TRUE(zygotes->awaited(python));
    say(1, 1);
    EXPECT_FALSE(zygotes->awaited(python));
    EXPECT_EQ(changes, 1);
    say(1, 0);
    EXPECT_FALSE(zygotes->awaited(python)) << "the next comes later";
    EXPECT_EQ(changes, 2);
}

TEST_F(ZygotesTest, OneWhoseJarsDoNotHoldIsNotUsed) {
    holds = false;
    start({});
    say(1, 1);
    EXPECT_EQ(retired, Ids{1});
    EXPECT_EQ(take(), 0U);
}

TEST_F(ZygotesTest, IsReplacedAfterSoManyForks) {
    start({.forks = 3});
    say(1, 1);
    EXPECT_EQ((Ids{take(), take()}), (Ids{1, 1}));
    EXPECT_EQ(ordered, Ids{1});
    EXPECT_EQ((Ids{take(), take()}), (Ids{1, 1})) << "as long as the next is not ready";
    EXPECT_EQ(ordered, (Ids{1, 2}));
    EXPECT_TRUE(retired.empty());
    say(2, 1);
    EXPECT_EQ(retired, Ids{1});
    say(1, 0);
    EXPECT_EQ(take(), 2U);
    EXPECT_EQ(ordered, (Ids{1, 2})) << "who was retired is not missed";
}

TEST_F(ZygotesTest, IsReplacedWhenItIsOld) {
    start({.forks = 1000, .age = Duration{}});
    say(1, 1);
    EXPECT_EQ(take(), 1U);
    EXPECT_EQ(ordered, (Ids{1, 2}));
}

TEST_F(ZygotesTest, OneThatIsGoneForksNoMore) {
    start({});
    say(1, 1);
    say(1, 0);
    EXPECT_EQ(take(), 0U);
    say(77, 1);  // nobody's
    EXPECT_EQ(take(), 0U);
}

}  // namespace
}  // namespace belljar::engine
