#include "engine/jar_pool.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <csignal>

#include "runner/runners.h"

namespace belljar::engine {
namespace {

using isolation::GuestFd;
using isolation::JarId;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A jar as the warden was asked for it. The test plays warden and guest.
struct Order {
    isolation::LaunchMessage message{};
    std::vector<Fd> fds;

    Fd& fd(GuestFd which) { return fds[static_cast<std::size_t>(which)]; }
};

runner::Runners generalists() {
    runner::Runners runners = runner::Runners::create().value();
    runners.dismiss_specialists();
    return runners;
}

class JarPoolTest : public testing::Test {
   protected:
    void SetUp() override {
        ::signal(SIGPIPE, SIG_IGN);
        asio::co_spawn(context, link.listen(), [](const std::exception_ptr&) {});
    }
    void TearDown() override {
        if (pool) {
            pool->close();
        }
        link.close();
        orders.clear();
        settle();
        ::signal(SIGPIPE, SIG_DFL);
    }

    void open(JarPool::Bounds bounds,
              JarPool::MemoryLimit memory = JarPool::MemoryLimit::Changeable) {
        pool.emplace(context.get_executor(), link,
                     JarPool::Options{.bounds = bounds, .limits = limits, .memory_limit = memory},
                     log);
        pool->serve({runners.find("python")});
        settle();
    }

    // Takes what the pool says to the warden: orders of jars are kept, others counted.
    void settle() {
        context.restart();
        context.poll();
        for (pollfd entry{.fd = warden.get(), .events = POLLIN, .revents = 0};
             warden.valid() && ::poll(&entry, 1, 0) == 1;) {
            isolation::Packet packet = jar::receive_packet(warden).value();
            if (packet.data.empty()) {
                return;
            }
            const auto message = isolation::decode_server_message(packet.data).value();
            if (const auto* launch = std::get_if<isolation::LaunchMessage>(&message)) {
                orders.push_back({.message = *launch, .fds = std::move(packet.fds)});
            } else if (const auto* start = std::get_if<isolation::StartMessage>(&message)) {
                started.push_back(*start);
            } else if (const auto* kill = std::get_if<isolation::KillMessage>(&message)) {
                killed.push_back(kill->jar);
            }
        }
    }

    // Until something holds, which takes as long as the pool's own timers.
    template <typename Condition>
    [[nodiscard]] bool becomes(Condition condition) {
        const TimePoint deadline = Clock::now() + seconds(10);
        while (!condition() && Clock::now() < deadline) {
            context.restart();
            context.run_one_for(milliseconds(5));
            settle();
        }
        return condition();
    }

    [[nodiscard]] bool gets_orders(std::size_t count) {
        return becomes([&] { return orders.size() >= count; });
    }

    // Each jar that was ordered has its interpreter waiting.
    void give_signs() {
        for (; signs < orders.size(); ++signs) {
            ASSERT_TRUE(write_all(orders[signs].fd(GuestFd::Report), "\n"));
        }
        settle();
    }

    void fill(std::size_t count) {
        ASSERT_TRUE(becomes([&] {
            give_signs();
            return figures().ready == count;
        })) << figures().ready;
    }

    void end(JarId jar) {
        for (Order& order : orders) {
            if (order.message.jar == jar) {
                order.fds.clear();
            }
        }
        isolation::EndedMessage ended{};
        ended.jar = jar;
        ASSERT_TRUE(isolation::send_message(warden, ended));
        settle();
    }

    void await_one(bool& done) {
        asio::co_spawn(context, pool->await_one(&python, limits),
                       [&done](const std::exception_ptr& failure) {
                           EXPECT_FALSE(failure);
                           done = true;
                       });
        settle();
    }

    std::optional<LaunchedJar> take() { return pool->take(python, limits); }
    PoolFigures figures() { return pool->figures()["python"]; }

    asio::io_context context;
    Log log{"test", LogLevel::Error};
    jar::SocketPair sockets = jar::make_seqpacket_pair().value();
    Fd warden = std::move(sockets.second);
    WardenLink link{context.get_executor(), std::move(sockets.first), log};
    runner::Runners runners = generalists();
    const runner::ManifestPtr python_manifest = runners.find("python");
    const runner::Manifest& python = *python_manifest;
    execution::Limits limits;
    std::optional<JarPool> pool;
    std::vector<Order> orders;
    std::vector<isolation::StartMessage> started;
    std::vector<JarId> killed;
    std::size_t signs = 0;
};

TEST_F(JarPoolTest, ARunWaitsForAJarThatIsBeingMade) {
    open({.ready = 1});
    ASSERT_EQ(orders.size(), 1U);
    bool first = false;
    bool second = false;
    await_one(first);
    await_one(second);
    EXPECT_FALSE(first);
    EXPECT_TRUE(second) << "the only one is for another";
    give_signs();
    EXPECT_TRUE(first);
    EXPECT_TRUE(take());
    EXPECT_EQ(figures().missed, 0U);
}

TEST_F(JarPoolTest, ARunDoesNotWaitForNothing) {
    open({.ready = 1});
    bool waited = false;
    limits.memory = Bytes{1};
    await_one(waited);
    EXPECT_TRUE(waited) << "no jar would fit";
    limits = {};
    waited = false;
    await_one(waited);
    ASSERT_FALSE(waited);
    end(orders.front().message.jar);
    EXPECT_TRUE(waited) << "it will never be ready";
    waited = false;
    pool->close();
    await_one(waited);
    EXPECT_TRUE(waited);
}

TEST_F(JarPoolTest, MakesJarsThatWaitWithASmallShareOfTheProcessor) {
    open({.ready = 2});
    ASSERT_EQ(orders.size(), 2U);
    for (Order& order : orders) {
        EXPECT_EQ(order.message.waits, 1U);
        EXPECT_EQ(order.message.cpu_thousandths, 250U);
        EXPECT_EQ(order.message.memory_bytes, limits.memory.count);
    }
    EXPECT_EQ(figures().ready, 0U) << "their interpreters have not said a word";
    EXPECT_FALSE(take());
    fill(4);
    EXPECT_EQ(figures().made, 4U);
    EXPECT_EQ(figures().missed, 1U);
}

TEST_F(JarPoolTest, WithNoneToBeReadyThereIsNoPool) {
    open({.ready = 0});
    EXPECT_TRUE(orders.empty());
    EXPECT_FALSE(take());
    EXPECT_TRUE(pool->figures().empty());
}

TEST_F(JarPoolTest, NothingIsTakenBeforeItIsOpened) {
    pool.emplace(context.get_executor(), link, JarPool::Options{.bounds = {.ready = 2}}, log);
    EXPECT_FALSE(take());
    settle();
    EXPECT_TRUE(orders.empty());
}

TEST_F(JarPoolTest, AJarIsTakenOnceAndReplaced) {
    open({.ready = 2});
    fill(2);
    limits.timeout = seconds(3);
    limits.memory = mebibytes(1024);
    const std::optional<LaunchedJar> first = take();
    const std::optional<LaunchedJar> second = take();
    ASSERT_TRUE(first && second);
    EXPECT_NE(first->id, second->id);
    EXPECT_EQ(first->begin, Begin::WhenTold);
    settle();
    ASSERT_EQ(started.size(), 2U);
    EXPECT_EQ(started[0].jar, first->id);
    EXPECT_EQ(started[0].timeout_nanoseconds, 3'000'000'000);
    EXPECT_EQ(started[0].memory_bytes, mebibytes(1024).count);
    EXPECT_EQ(started[0].cpu_thousandths, 500U);
    EXPECT_FALSE(take());
    EXPECT_EQ(figures().taken, 2U);
    EXPECT_EQ(figures().missed, 1U);
    end(first->id);
    fill(4);
    EXPECT_EQ(orders.size(), 6U) << "twice as many from now on";
    EXPECT_EQ(figures().lost, 0U) << "it was taken";
}

TEST_F(JarPoolTest, MakesTwoAtATime) {
    open({.ready = 5});
    EXPECT_EQ(orders.size(), 2U);
    ASSERT_TRUE(write_all(orders[0].fd(GuestFd::Report), "\n"));
    settle();
    settle();
    EXPECT_EQ(orders.size(), 3U);
}

TEST_F(JarPoolTest, MakesNoneForAMomentWhileRunsCrowd) {
    open({.ready = 4});
    ASSERT_EQ(orders.size(), 2U);
    EXPECT_FALSE(take()) << "none is ready";
    const TimePoint crowded = Clock::now();
    give_signs();
    settle();
    EXPECT_EQ(figures().ready, 2U) << "those that are being made are finished";
    EXPECT_EQ(orders.size(), 2U) << "and no others begun";
    ASSERT_TRUE(gets_orders(4));
    EXPECT_GE(Clock::now() - crowded, milliseconds(150));
}

TEST_F(JarPoolTest, ALanguageInDemandLeavesOthersWhatTheyAlwaysHave) {
    const runner::ManifestPtr javascript = runners.find("javascript");
    const std::uint64_t for_python = 2 * python.ready_memory.count;
    const std::uint64_t for_javascript = 3 * javascript->ready_memory.count;
    open({.ready = 2, .memory = Bytes{for_python + for_javascript}});
    pool->serve({python_manifest, javascript});
    fill(2);
    for (int run = 0; run < 5; ++run) {  // the last ones find none
        const std::optional<LaunchedJar> taken = pool->take(*javascript, limits);
    }
    EXPECT_TRUE(take());
    EXPECT_TRUE(take());
    fill(2);
    EXPECT_TRUE(becomes([&] {
        give_signs();
        return pool->figures()["javascript"].ready == 3;
    }));
    context.restart();
    context.run_for(milliseconds(50));
    settle();
    EXPECT_EQ(pool->figures()["javascript"].ready, 3U);
}

TEST_F(JarPoolTest, AJarServesOnlyPlansThatItFits) {
    open({.ready = 2});
    fill(2);
    execution::Limits other = limits;
    other.tmp = mebibytes(1);
    EXPECT_FALSE(pool->take(python, other));
    other = limits;
    other.workspace = mebibytes(1);
    EXPECT_FALSE(pool->take(python, other));
    other = limits;
    other.processes = 1;
    EXPECT_FALSE(pool->take(python, other));
    other = limits;
    other.memory = mebibytes(7);
    EXPECT_FALSE(pool->take(python, other)) << "the interpreter may have more already";
    EXPECT_EQ(figures().unfit, 4U);
    EXPECT_EQ(figures().missed, 0U);
    EXPECT_EQ(figures().ready, 2U);
    other.memory = python.ready_memory;
    EXPECT_TRUE(pool->take(python, other));
    const runner::Manifest stranger;
    EXPECT_FALSE(pool->take(stranger, limits));
}

TEST_F(JarPoolTest, WhereMemoryIsFixedItMustBeTheSame) {
    open({.ready = 2}, JarPool::MemoryLimit::Fixed);
    fill(2);
    execution::Limits other = limits;
    other.memory = mebibytes(512);
    EXPECT_FALSE(pool->take(python, other));
    EXPECT_TRUE(take());
}

TEST_F(JarPoolTest, StaysWithinItsMemory) {
    open({.ready = 8, .memory = mebibytes(3 * 8 + 7)});
    fill(3);
    settle();
    EXPECT_EQ(orders.size(), 3U);
    EXPECT_TRUE(take());
    EXPECT_TRUE(gets_orders(4));
}

TEST_F(JarPoolTest, ShrinksWhenThereIsAlwaysOneToSpare) {
    open({.ready = 1, .idle = milliseconds(20)});
    EXPECT_FALSE(take());
    fill(2);
    EXPECT_TRUE(becomes([&] { return figures().ready == 1; }));
    EXPECT_EQ(killed.size(), 1U);
    end(killed.front());
    EXPECT_EQ(figures().lost, 0U);
    const TimePoint later = Clock::now() + milliseconds(100);
    EXPECT_TRUE(becomes([&] { return Clock::now() > later; }));
    EXPECT_EQ(figures().ready, 1U);
    EXPECT_EQ(orders.size(), 2U) << "none was made in its place";
}

TEST_F(JarPoolTest, AJarThatDiesWhileItWaitsIsReplacedAfterAPause) {
    open({.ready = 1});
    fill(1);
    for (std::size_t deaths = 1; deaths <= 3; ++deaths) {
        const TimePoint died = Clock::now();
        end(orders.back().message.jar);
        EXPECT_EQ(figures().ready, 0U);
        EXPECT_EQ(figures().lost, deaths);
        EXPECT_TRUE(gets_orders(deaths + 1));
        EXPECT_GE(Clock::now() - died, milliseconds(50) * (1U << deaths)) << "longer each time";
        fill(1);
    }
    ASSERT_TRUE(take());
    ASSERT_TRUE(gets_orders(5));
    fill(1);
    const TimePoint died = Clock::now();
    end(orders.back().message.jar);
    EXPECT_TRUE(gets_orders(6));
    EXPECT_LT(Clock::now() - died, milliseconds(800)) << "one was of use in between";
}

TEST_F(JarPoolTest, AJarThatCannotBeMadeIsTriedAgainAfterAPause) {
    open({.ready = 1});
    testing::internal::CaptureStderr();
    const TimePoint failed = Clock::now();
    orders[0].fds.clear();
    ASSERT_TRUE(isolation::send_message(
        warden,
        isolation::FailedMessage{
            .jar = orders[0].message.jar, .step = jar::Step::MountProc, .sys_errno = EPERM}));
    signs = 1;
    EXPECT_TRUE(gets_orders(2));
    testing::internal::GetCapturedStderr();
    EXPECT_GE(Clock::now() - failed, milliseconds(100));
    EXPECT_EQ(figures().lost, 1U);
    fill(1);
}

TEST_F(JarPoolTest, LosingTheWardenEndsIt) {
    open({.ready = 3});
    fill(3);
    orders.clear();
    warden.reset();
    settle();
    EXPECT_EQ(figures().ready, 0U);
    EXPECT_FALSE(take());
    context.restart();
    EXPECT_EQ(context.run_for(milliseconds(300)), 0U) << "nothing is left to do";
}

TEST_F(JarPoolTest, ClosingForgetsWhatIsReadyAndMakesNoMore) {
    open({.ready = 3});
    give_signs();
    settle();
    pool->close();
    EXPECT_EQ(figures().ready, 0U);
    EXPECT_FALSE(take());
    link.close();
    orders.clear();
    warden.reset();
    context.restart();
    context.run_for(seconds(5));
    EXPECT_TRUE(context.stopped()) << "every task has ended";
}

TEST_F(JarPoolTest, JarsOfALanguageThatIsGoneAreEnded) {
    open({.ready = 2});
    ASSERT_TRUE(gets_orders(2));
    give_signs();
    fill(2);
    const auto changed = std::make_shared<const runner::Manifest>(python);
    pool->serve({changed});
    settle();
    EXPECT_EQ(killed.size(), 2U);
    EXPECT_FALSE(take()) << "they were made of what was in force before";
    ASSERT_TRUE(gets_orders(4));
    give_signs();
    EXPECT_TRUE(pool->take(*changed, limits));
    pool->serve({});
    EXPECT_FALSE(pool->take(*changed, limits));
    EXPECT_TRUE(pool->figures().empty());
}

TEST_F(JarPoolTest, AJarThatIsBeingMadeForALanguageThatIsGoneIsEnded) {
    open({.ready = 1});
    ASSERT_TRUE(gets_orders(1));
    pool->serve({});
    give_signs();
    EXPECT_TRUE(becomes([&] { return killed.size() == 1; }));
}

// --- tools

approved::PackPtr pack_of(const std::string& content) {
    const approved::Module module{.approval = {.file = "a.py"}, .content = content};
    return approved::make_pack({&module}).value();
}

TEST_F(JarPoolTest, JarsHaveTheToolsOfTheirTime) {
    open({.ready = 1});
    ASSERT_TRUE(gets_orders(1));
    EXPECT_EQ(orders[0].message.has_tools, 0U);
    fill(1);
    const approved::PackPtr first = pack_of("1");
    EXPECT_FALSE(pool->take(python, limits, Begin::AtOnce, first)) << "it has none";
    pool->stock(first);
    settle();
    EXPECT_EQ(killed, std::vector<JarId>{orders[0].message.jar});
    ASSERT_TRUE(gets_orders(2));
    EXPECT_EQ(orders[1].message.has_tools, 1U);
    EXPECT_EQ(orders[1].fds.size(), isolation::kGuestFdCount + 2);
    pool->stock(pack_of("2"));  // while the next is made
    settle();
    give_signs();
    EXPECT_TRUE(becomes([this] { return killed.size() == 2; }));
    fill(1);
    EXPECT_FALSE(take()) << "it has tools";
    EXPECT_FALSE(pool->take(python, limits, Begin::AtOnce, first)) << "it has newer ones";
    const auto jar = pool->take(python, limits, Begin::AtOnce, pack_of("2"));
    ASSERT_TRUE(jar);
    EXPECT_EQ(digest_of(*jar), pack_of("2")->digest);
}

TEST_F(JarPoolTest, TheSameToolsReplaceNothing) {
    open({.ready = 1});
    pool->stock(pack_of("1"));
    fill(1);
    const std::size_t before = killed.size();
    pool->stock(pack_of("1"));
    settle();
    EXPECT_EQ(killed.size(), before);
    EXPECT_EQ(figures().ready, 1U);
}

}  // namespace
}  // namespace belljar::engine
