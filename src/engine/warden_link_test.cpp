#include "engine/warden_link.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <thread>

namespace belljar::engine {
namespace {

using execution::KillReason;
using execution::RawExit;
using isolation::JarId;
using std::chrono::milliseconds;
using std::chrono::seconds;

// What one run that waits was told.
struct Told {
    std::optional<Result<RawExit>> outcome;
};

isolation::EndedMessage end_of(JarId jar, int wait_status = 0) {
    isolation::EndedMessage ended{};
    ended.jar = jar;
    ended.exited = 1;
    ended.wait_status = wait_status;
    return ended;
}

Task<void> wait_until_sent(WardenLink* link, bool* sent) {
    co_await link->until_sent();
    *sent = true;
}

Task<void> wait_for(WardenLink* link, JarId jar, TimePoint give_up, Told* told) {
    Result<RawExit> outcome = co_await link->wait(jar, give_up);
    told->outcome = std::move(outcome);
}

// The test plays the warden at the other end of the socket.
class WardenLinkTest : public testing::Test {
   protected:
    WardenLinkTest() { start(link->listen()); }
    ~WardenLinkTest() override {
        link->close();
        settle();
    }

    void start(Task<void> task) {
        asio::co_spawn(context, std::move(task),
                       [](const std::exception_ptr& failure) { EXPECT_FALSE(failure); });
        settle();
    }

    void settle() {
        context.restart();
        context.poll();
    }

    static std::array<Fd, isolation::kGuestFdCount> descriptors() {
        std::array<Fd, isolation::kGuestFdCount> fds;
        for (Fd& fd : fds) {
            fd = Fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
        }
        return fds;
    }

    JarId launch() {
        const Result<JarId> jar = link->launch(
            {.command = {.arguments = {"/bin/true"}}, .limits = {.processes = 7}}, descriptors());
        EXPECT_TRUE(jar) << jar.error().describe();
        return jar.value_or(0);
    }

    void wait(JarId jar, Told& told, Duration patience = seconds(60)) {
        start(wait_for(link.get(), jar, Clock::now() + patience, &told));
    }

    isolation::ServerMessage next_order() {
        const Result<isolation::Packet> packet = jar::receive_packet(warden);
        EXPECT_TRUE(packet);
        return isolation::decode_server_message(packet->data).value();
    }

    template <typename Message>
    void say(const Message& message) {
        ASSERT_TRUE(isolation::send_message(warden, message));
        settle();
    }

    asio::io_context context;
    Log log{"test", LogLevel::Error};
    jar::SocketPair sockets = jar::make_seqpacket_pair().value();
    Fd warden = std::move(sockets.second);
    std::unique_ptr<WardenLink> link =
        std::make_unique<WardenLink>(context.get_executor(), std::move(sockets.first), log);
};

TEST_F(WardenLinkTest, OrdersAJarWithItsDescriptors) {
    const JarId jar = launch();
    const isolation::Packet packet = jar::receive_packet(warden).value();
    EXPECT_EQ(packet.fds.size(), isolation::kGuestFdCount);
    const auto message = isolation::decode_server_message(packet.data).value();
    const auto& order = std::get<isolation::LaunchMessage>(message);
    EXPECT_EQ(order.jar, jar);
    EXPECT_EQ(order.processes, 7U);
    EXPECT_EQ(jar::command_of(order.command)->arguments, std::vector<std::string>{"/bin/true"});
}

TEST_F(WardenLinkTest, GivesEveryJarANumberOfItsOwn) {
    const JarId first = launch();
    const JarId second = launch();
    EXPECT_NE(first, second);
    EXPECT_NE(first, 0U);
}

// A warden that is busy reads nothing, and a socket holds some fifty orders.
TEST_F(WardenLinkTest, OrdersWaitForRoomAndKeepTheirOrder) {
    constexpr JarId kMany = 300;
    for (JarId count = 0; count < kMany; ++count) {
        launch();
    }
    link->kill(kMany, KillReason::Cancelled);
    for (JarId jar = 1; jar <= kMany; ++jar) {
        settle();
        const isolation::Packet packet = jar::receive_packet(warden).value();
        const auto message = isolation::decode_server_message(packet.data).value();
        ASSERT_EQ(std::get<isolation::LaunchMessage>(message).jar, jar);
        ASSERT_EQ(packet.fds.size(), isolation::kGuestFdCount);
    }
    settle();
    EXPECT_EQ(std::get<isolation::KillMessage>(next_order()).jar, kMany);
}

TEST_F(WardenLinkTest, TellsWhenAnOrderIsWithTheWarden) {
    constexpr JarId kMany = 300;
    bool first = false;
    launch();
    start(wait_until_sent(link.get(), &first));
    EXPECT_TRUE(first) << "there was room";
    for (JarId count = 1; count < kMany; ++count) {
        launch();
    }
    bool sent = false;
    start(wait_until_sent(link.get(), &sent));
    for (JarId count = 0; count < kMany; ++count) {
        launch();  // what comes later is not waited for
    }
    JarId received = 0;
    while (!sent && received < kMany) {
        ASSERT_EQ(std::get<isolation::LaunchMessage>(next_order()).jar, ++received);
        settle();
    }
    EXPECT_TRUE(sent);
    EXPECT_GT(received, kMany / 2) << "a socket does not hold so many";
}

TEST_F(WardenLinkTest, NobodyWaitsToSendToAWardenThatIsGone) {
    constexpr JarId kMany = 300;
    for (JarId count = 0; count < kMany; ++count) {
        launch();
    }
    bool ended = false;
    start(wait_until_sent(link.get(), &ended));
    EXPECT_FALSE(ended);
    warden.reset();
    settle();
    EXPECT_TRUE(ended);
}

TEST_F(WardenLinkTest, TellsWhatBecameOfAJar) {
    const JarId jar = launch();
    Told told;
    wait(jar, told);
    say(isolation::StartedMessage{.jar = jar});
    EXPECT_FALSE(told.outcome);
    isolation::EndedMessage ended{};
    ended.jar = jar;
    ended.kill_reason = KillReason::Deadline;
    ended.exited = 1;
    ended.wait_status = 256;
    ended.wall_nanoseconds = 10;
    ended.cpu_nanoseconds = 9;
    ended.memory_peak_bytes = 8;
    ended.out_of_memory_kills = 7;
    ended.processes_peak = 6;
    ended.process_limit_hits = 5;
    ended.disk_used_bytes = 4;
    say(ended);
    ASSERT_TRUE(told.outcome && *told.outcome);
    const RawExit& exit = **told.outcome;
    EXPECT_EQ(exit.kill_reason, KillReason::Deadline);
    EXPECT_TRUE(exit.exited);
    EXPECT_EQ(exit.wait_status, 256);
    EXPECT_EQ(exit.wall.count(), 10);
    EXPECT_EQ(exit.cpu.count(), 9);
    EXPECT_EQ(exit.memory_peak_bytes, 8U);
    EXPECT_EQ(exit.out_of_memory_kills, 7U);
    EXPECT_EQ(exit.processes_peak, 6U);
    EXPECT_EQ(exit.process_limit_hits, 5U);
    EXPECT_EQ(exit.disk_used_bytes, 4U);
}

TEST_F(WardenLinkTest, HandsEachAnswerToItsOwnRun) {
    const JarId first = launch();
    const JarId second = launch();
    Told told_first;
    Told told_second;
    wait(first, told_first);
    wait(second, told_second);
    say(end_of(second));
    EXPECT_FALSE(told_first.outcome);
    EXPECT_TRUE(told_second.outcome);
    say(end_of(first));
    EXPECT_TRUE(told_first.outcome);
}

TEST_F(WardenLinkTest, KeepsAnAnswerThatComesBeforeAnybodyWaits) {
    const JarId jar = launch();
    say(end_of(jar, 9));
    Told told;
    wait(jar, told);
    ASSERT_TRUE(told.outcome && *told.outcome);
    EXPECT_EQ((*told.outcome)->wait_status, 9);
}

TEST_F(WardenLinkTest, NamesTheStepThatFailedButNotToClients) {
    const JarId jar = launch();
    Told told;
    wait(jar, told);
    testing::internal::CaptureStderr();
    say(isolation::FailedMessage{.jar = jar, .step = jar::Step::PivotRoot, .sys_errno = EPERM});
    EXPECT_NE(testing::internal::GetCapturedStderr().find("pivot the root"), std::string::npos);
    ASSERT_TRUE(told.outcome && !*told.outcome);
    const Error& error = told.outcome->error();
    EXPECT_EQ(error.code, ErrorCode::SystemCall);
    EXPECT_EQ(error.sys_errno, EPERM);
    EXPECT_NE(error.where.find("pivot the root"), std::string::npos);
    EXPECT_EQ(error.message.find("pivot"), std::string::npos);
}

TEST_F(WardenLinkTest, IgnoresJarsThatNobodyAskedFor) {
    testing::internal::CaptureStderr();
    say(end_of(999));
    say(isolation::FailedMessage{});
    say(isolation::ReadyMessage{});
    testing::internal::GetCapturedStderr();
    EXPECT_TRUE(link->alive());
}

TEST_F(WardenLinkTest, OrdersTheEndOfAJar) {
    link->kill(5, KillReason::Output);
    const auto order = std::get<isolation::KillMessage>(next_order());
    EXPECT_EQ(order.jar, 5U);
    EXPECT_EQ(order.reason, KillReason::Output);
}

TEST_F(WardenLinkTest, FailsEveryRunWhenTheWardenIsGone) {
    int losses = 0;
    link->on_loss([&] { ++losses; });
    Told first;
    Told second;
    wait(launch(), first);
    wait(launch(), second);
    warden.reset();
    settle();
    EXPECT_FALSE(link->alive());
    EXPECT_EQ(losses, 1);
    ASSERT_TRUE(first.outcome && second.outcome);
    EXPECT_EQ(first.outcome->error().code, ErrorCode::Unavailable);
    EXPECT_EQ(second.outcome->error().code, ErrorCode::Unavailable);
    EXPECT_EQ(link->launch({.command = {.arguments = {"/x"}}}, descriptors()).error().code,
              ErrorCode::Unavailable);
    link->kill(1, KillReason::Cancelled);  // nobody is there, and that is no error
}

TEST_F(WardenLinkTest, DoesNotGoOnWithAWardenThatSpeaksNonsense) {
    Told told;
    wait(launch(), told);
    testing::internal::CaptureStderr();
    const std::byte nonsense{1};
    ASSERT_TRUE(jar::send_packet(warden, std::span(&nonsense, 1), {}));
    settle();
    EXPECT_NE(testing::internal::GetCapturedStderr().find("nonsense"), std::string::npos);
    EXPECT_FALSE(link->alive());
    ASSERT_TRUE(told.outcome);
    EXPECT_EQ(told.outcome->error().code, ErrorCode::Unavailable);
}

TEST_F(WardenLinkTest, DoesNotGoOnWithAWardenThatForgetsAJar) {
    testing::internal::CaptureStderr();
    Told told;
    wait(launch(), told, milliseconds(10));
    while (!told.outcome) {
        context.restart();
        context.run_one_for(seconds(10));
    }
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(told.outcome->error().code, ErrorCode::Unavailable);
    EXPECT_FALSE(link->alive());
}

TEST_F(WardenLinkTest, ListensToAllThatHasComeBeforeItGivesUp) {
    const std::array<JarId, 3> jars{launch(), launch(), launch()};
    std::array<Told, 3> told;
    for (std::size_t index = 0; index < jars.size(); ++index) {
        wait(jars[index], told[index], milliseconds(100));
    }
    for (const JarId jar : jars) {
        ASSERT_TRUE(isolation::send_message(warden, end_of(jar)));
    }
    std::this_thread::sleep_for(milliseconds(110));  // nobody listens
    settle();
    for (const Told& one : told) {
        EXPECT_TRUE(one.outcome && *one.outcome);
    }
    EXPECT_TRUE(link->alive());
}

TEST_F(WardenLinkTest, AWardenHasTimeAgainAfterThisProcessWasHeldUp) {
    const JarId jar = launch();
    Told told;
    wait(jar, told, -seconds(5));  // as if it had been stopped since
    EXPECT_FALSE(told.outcome);
    say(end_of(jar, 9));
    ASSERT_TRUE(told.outcome && *told.outcome);
    EXPECT_EQ((*told.outcome)->wait_status, 9);
    EXPECT_TRUE(link->alive());
}

TEST_F(WardenLinkTest, ClosingCancelsWhatWaits) {
    int losses = 0;
    link->on_loss([&] { ++losses; });
    Told told;
    wait(launch(), told);
    link->close();
    settle();
    ASSERT_TRUE(told.outcome);
    EXPECT_EQ(told.outcome->error().code, ErrorCode::Cancelled);
    EXPECT_EQ(losses, 0) << "it did not go away by itself";
    next_order();  // the launch
    EXPECT_TRUE(jar::receive_packet(warden).value().data.empty());
}

TEST_F(WardenLinkTest, BeginsARunThatWaits) {
    const JarId jar =
        link->launch({.command = {.arguments = {"/x"}}}, descriptors(), Begin::WhenTold).value();
    EXPECT_EQ(std::get<isolation::LaunchMessage>(next_order()).waits, 1U);
    ASSERT_TRUE(
        link->start(jar, {.timeout = milliseconds(5), .memory = mebibytes(7), .cpu = 0.25}));
    const auto order = std::get<isolation::StartMessage>(next_order());
    EXPECT_EQ(order.jar, jar);
    EXPECT_EQ(order.timeout_nanoseconds, 5'000'000);
    EXPECT_EQ(order.memory_bytes, mebibytes(7).count);
    EXPECT_EQ(order.cpu_thousandths, 250U);
    Told told;
    wait(jar, told);
    say(end_of(jar));
    ASSERT_TRUE(told.outcome && *told.outcome);
    EXPECT_EQ(link->start(jar, {}).error().code, ErrorCode::Unavailable) << "it is over";
}

TEST_F(WardenLinkTest, TellsHowLongAJarWasSetUp) {
    const JarId made = launch();
    say(isolation::StartedMessage{.jar = made});
    Told told;
    wait(made, told);
    say(end_of(made));
    EXPECT_GT((*told.outcome)->set_up, Duration{});
    const JarId waited = launch();
    say(isolation::StartedMessage{.jar = waited});
    ASSERT_TRUE(link->start(waited, {}));
    wait(waited, told);
    say(end_of(waited));
    EXPECT_EQ((*told.outcome)->set_up, Duration{});
}

TEST_F(WardenLinkTest, TellsTheEndOfAJarThatNobodyWaitsForOnce) {
    int ends = 0;
    const auto count = [&] { ++ends; };
    const JarId first = launch();
    link->on_end(first, count);
    say(end_of(first));
    say(end_of(first));
    EXPECT_EQ(ends, 1);
    link->on_end(first, count);
    EXPECT_EQ(ends, 2) << "at once, it is over";
    const JarId second = launch();
    link->on_end(second, count);
    link->on_end(second, nullptr);
    Told told;
    wait(second, told);
    say(end_of(second));
    EXPECT_TRUE(told.outcome);
    EXPECT_EQ(ends, 2) << "somebody waited for it";
    link->on_end(launch(), count);
    link->on_end(launch(), count);
    warden.reset();
    settle();
    EXPECT_EQ(ends, 4) << "the warden took them along";
}

TEST_F(WardenLinkTest, RefusesACommandThatIsTooLong) {
    EXPECT_EQ(link->launch({.command = {.arguments = {std::string(10'000, 'x')}}}, descriptors())
                  .error()
                  .code,
              ErrorCode::TooLarge);
    launch();
    EXPECT_TRUE(std::holds_alternative<isolation::LaunchMessage>(next_order()));
}

}  // namespace
}  // namespace belljar::engine
