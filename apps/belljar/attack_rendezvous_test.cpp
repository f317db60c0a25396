#include "attack_rendezvous.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace belljar::apps {
namespace {

// What a guest can read now: text, nothing yet, or the end.
std::string read_now(const engine::LiveStreams& guest) {
    std::array<char, 64> data{};
    ::fcntl(guest.stdin_source.get(), F_SETFL, O_NONBLOCK);
    const ssize_t count = ::read(guest.stdin_source.get(), data.data(), data.size());
    return count < 0    ? "nothing yet"
           : count == 0 ? "the end"
                        : std::string(data.data(), static_cast<std::size_t>(count));
}

class AttackRendezvousTest : public testing::Test {
   protected:
    void SetUp() override {
        for (engine::LiveStreams* guest : {&first, &second}) {
            Result<engine::LiveStreams> joined = rendezvous.join();
            ASSERT_TRUE(joined);
            *guest = std::move(*joined);
        }
    }

    static void say(engine::LiveStreams& guest, std::string_view text) {
        guest.watch.on_output(engine::OutputStream::Stdout, text);
    }

    int called = 0;
    Rendezvous rendezvous{2, [this] { ++called; }};
    engine::LiveStreams first;
    engine::LiveStreams second;
};

TEST_F(AttackRendezvousTest, OnceAllAreReadyAllMayGo) {
    say(first, "ready\n");
    EXPECT_EQ(read_now(first), "nothing yet");
    EXPECT_EQ(called, 0);
    say(second, "rea");
    say(second, "dy\n");
    EXPECT_EQ(called, 1);
    EXPECT_EQ(read_now(first), "go\n");
    EXPECT_EQ(read_now(second), "go\n");
}

TEST_F(AttackRendezvousTest, OneThatIsReadyTwiceCountsOnce) {
    say(first, "ready\n");
    say(first, "ready\nready\n");
    EXPECT_EQ(called, 0);
    EXPECT_EQ(read_now(first), "nothing yet");
}

TEST_F(AttackRendezvousTest, WhoSaysSomethingElseIsNotReady) {
    say(first, "ready\n");
    second.watch.on_output(engine::OutputStream::Stderr, "ready\n");
    say(second, std::string(100'000, 'x'));
    EXPECT_EQ(called, 0);
}

TEST_F(AttackRendezvousTest, NobodyWaitsForTheDead) {
    say(first, "ready\n");
    rendezvous.give_up();
    EXPECT_EQ(read_now(first), "the end");
}

}  // namespace
}  // namespace belljar::apps
