#include "engine/zygotes.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include "runner/runners.h"

namespace belljar::engine {
namespace {

runner::Runners generalists() {
    runner::Runners runners = runner::Runners::create().value();
    runners.dismiss_specialists();
    return runners;
}

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
            [this](runner::ManifestPtr, std::uint32_t zygote) { return try_out(zygote); });
        zygotes->serve({runners.find("python")});
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
                const auto command = jar::command_of(started->command).value();
                reads.push_back(std::ranges::count(command.arguments, "--reads") == 1);
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
    runner::Runners runners = generalists();
    const runner::ManifestPtr python_manifest = runners.find("python");
    const runner::Manifest& python = *python_manifest;
    std::optional<Zygotes> zygotes;
    bool holds = true;
    Ids ordered, retired, tried;
    std::vector<bool> reads;  // those that were ordered
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

TEST_F(ZygotesTest, TheNextPreparesItsGuestsForReadingIfProgramsAreRead) {
    start({});
    zygotes->expect_readings(python);
    settle();
    EXPECT_EQ(ordered, Ids{1}) << "one is coming";
    say(1, 1);
    zygotes->expect_readings(python);
    zygotes->expect_readings(python);
    settle();
    EXPECT_EQ(ordered, (Ids{1, 2}));
    EXPECT_EQ(take(), 1U) << "until the next is ready";
    say(2, 1);
    EXPECT_EQ(take(), 2U);
    zygotes->expect_readings(python);
    settle();
    EXPECT_EQ(ordered, (Ids{1, 2})) << "it is prepared";
    EXPECT_EQ(reads, (std::vector{false, true}));
}

TEST_F(ZygotesTest, WhatWasReadLongAgoIsNotPreparedFor) {
    start({.forks = 1, .age = std::chrono::milliseconds(50)});
    say(1, 1);
    zygotes->expect_readings(python);
    settle();
    say(2, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    EXPECT_EQ(take(), 2U);
    EXPECT_EQ(reads, (std::vector{false, true, false}));
}

TEST_F(ZygotesTest, NothingIsAwaitedAfterTheStop) {
    start({});
    say(1, 0);
    zygotes->stop();
    link.close();
    settle();
    EXPECT_TRUE(context.stopped()) << "the next one is still to come";
}

TEST_F(ZygotesTest, NoneIsBegunAfterTheStop) {
    start({.forks = 1});
    say(1, 1);
    zygotes->stop();
    EXPECT_EQ(take(), 1U);
    say(1, 0);
    EXPECT_EQ(ordered, Ids{1});
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
