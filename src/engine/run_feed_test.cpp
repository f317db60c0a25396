#include "engine/run_feed.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace belljar::engine {
namespace {

using execution::RunResult;
using Names = std::vector<std::string>;

class RunFeedTest : public testing::Test {
   protected:
    RunFeed::Listener listener() {
        return [this](const FeedEvent& event) { heard.push_back(event); };
    }
    Names names() const {
        Names found;
        for (const FeedEvent& event : heard) {
            found.emplace_back(event.name);
        }
        return found;
    }
    void run(const std::string& principal, const Result<RunResult>& result = RunResult{}) {
        const auto observation = feed.observe(principal);
        const RunWatch watch = observation->join({});
        watch.on_start({.execution_id = "run-1", .language = "python"});
        watch.on_output(OutputStream::Stdout, "text \xE2\x82");
        watch.on_output(OutputStream::Stdout, "\xAC");
        observation->finish(result);
    }

    RunFeed feed{{.remembered = 4, .watchers = 3, .watchers_each = 2}};
    std::vector<FeedEvent> heard;
};

TEST_F(RunFeedTest, TellsOfTheRunsOfOnePrincipalOnly) {
    const auto subscription = feed.subscribe("ann", RunFeed::Output::Left, listener());
    run("ben");
    run("");
    EXPECT_TRUE(heard.empty());
    run("ann");
    EXPECT_EQ(names(), (Names{"run_started", "run_finished"}));
    EXPECT_EQ(heard[0].number, 1U);
    EXPECT_EQ(heard[1].number, 2U) << "the runs of others leave no gap";
}

TEST_F(RunFeedTest, ShowsOutputToWhoWantsIt) {
    const auto subscription = feed.subscribe("ann", RunFeed::Output::Shown, listener());
    run("ann");
    EXPECT_EQ(names(), (Names{"run_started", "run_output", "run_output", "run_finished"}));
    EXPECT_NE(heard[1].data.find("\"text \""), std::string::npos) << heard[1].data;
    EXPECT_NE(heard[2].data.find("\xE2\x82\xAC"), std::string::npos);
    EXPECT_EQ(heard[1].number, 0U);
}

TEST_F(RunFeedTest, RememberedEventsFollowOneThatWasSeen) {
    run("ann");
    RunFeed::Missed missed = feed.since("ann", 1);
    EXPECT_TRUE(missed.complete);
    ASSERT_EQ(missed.events.size(), 1U);
    EXPECT_EQ(missed.events[0].number, 2U);
    run("ann");
    run("ann");
    missed = feed.since("ann", 1);
    EXPECT_FALSE(missed.complete);
    ASSERT_EQ(missed.events.size(), 4U);
    EXPECT_EQ(missed.events[0].number, 3U);
    EXPECT_TRUE(feed.since("ann", 6).complete);
    EXPECT_TRUE(feed.since("ann", 6).events.empty());
    EXPECT_FALSE(feed.since("ann", 99).complete) << "a number that was never given";
    EXPECT_TRUE(feed.since("ben", 0).complete);
}

TEST(RunFeedPrincipals, AreForgottenWhereTheyAreMany) {
    RunFeed feed({.principals = 3});
    const auto run = [&feed](const std::string& principal) {
        feed.observe(principal)->join({}).on_start({.execution_id = "run", .language = "python"});
    };
    std::vector<std::uint64_t> heard;
    const auto watcher =
        feed.subscribe("watched", RunFeed::Output::Left,
                       [&heard](const FeedEvent& event) { heard.push_back(event.number); });
    for (int times = 0; times < 5; ++times) {
        run("gone");
    }
    for (int number = 0; number < 100; ++number) {
        run("one of many " + std::to_string(number));
        EXPECT_LE(feed.principals(), 3U);
    }
    run("watched");
    EXPECT_EQ(heard, std::vector<std::uint64_t>{1}) << "who is watched stays";
    EXPECT_FALSE(feed.since("gone", 3).complete);
    run("gone");
    const RunFeed::Missed missed = feed.since("gone", 3);
    EXPECT_FALSE(missed.complete);
    ASSERT_EQ(missed.events.size(), 1U);
    EXPECT_GT(missed.events.front().number, 5U) << "no number means two events";
}

TEST_F(RunFeedTest, WatchersAreBounded) {
    const auto first = feed.subscribe("ann", RunFeed::Output::Left, listener());
    {
        const auto second = feed.subscribe("ann", RunFeed::Output::Left, listener());
        const auto third = feed.subscribe("ann", RunFeed::Output::Left, listener());
        ASSERT_FALSE(third);
        EXPECT_EQ(third.error().code, ErrorCode::QuotaReached);
        const auto other = feed.subscribe("ben", RunFeed::Output::Left, listener());
        EXPECT_TRUE(other);
        const auto late = feed.subscribe("cid", RunFeed::Output::Left, listener());
        ASSERT_FALSE(late);
        EXPECT_EQ(late.error().code, ErrorCode::Overloaded);
    }
    EXPECT_TRUE(feed.subscribe("ann", RunFeed::Output::Left, listener()));
}

TEST_F(RunFeedTest, ARunThatIsLostHasAnEndAndARefusedOneNoBeginning) {
    const auto subscription = feed.subscribe("ann", RunFeed::Output::Left, listener());
    feed.observe("ann")->finish(fail(ErrorCode::Overloaded, "full"));
    EXPECT_TRUE(heard.empty());
    run("ann", fail(ErrorCode::Unavailable, "no jar"));
    EXPECT_EQ(names(), (Names{"run_started", "run_finished"}));
    EXPECT_NE(heard[1].data.find("\"success\":false"), std::string::npos);
}

TEST_F(RunFeedTest, WatchOfTheCallerIsToldToo) {
    std::string text;
    int started = 0;
    const RunWatch watch = feed.observe("ann")->join(
        {.on_start = [&](const RunStart&) { ++started; },
         .on_output = [&](OutputStream, std::string_view bytes) { text += bytes; }});
    watch.on_start({.execution_id = "run-1"});
    watch.on_output(OutputStream::Stdout, "bytes");
    EXPECT_EQ(started, 1);
    EXPECT_EQ(text, "bytes");
}

TEST_F(RunFeedTest, TellsOfAlertsWhomTheyConcern) {
    const auto own = feed.subscribe("ann", RunFeed::Output::Left, listener());
    feed.alert("ben", R"({"a":1})");
    feed.alert(std::nullopt, R"({"a":2})");
    EXPECT_TRUE(heard.empty());
    feed.alert("ann", R"({"a":3})");
    ASSERT_EQ(names(), Names{"alert"});
    EXPECT_EQ(heard[0].data, R"({"a":3})");
    EXPECT_EQ(heard[0].number, 1U) << "it is remembered";
    EXPECT_EQ(feed.since("ann", 0).events.size(), 1U);
}

TEST_F(RunFeedTest, TellsWhoOverseesOfEveryAlertOnce) {
    const auto all = feed.subscribe("eve", RunFeed::Output::Left, listener(), RunFeed::Alerts::All);
    feed.alert("ben", "{}");
    feed.alert(std::nullopt, "{}");
    feed.alert("eve", "{}");
    EXPECT_EQ(names(), (Names{"alert", "alert", "alert"}));
    EXPECT_EQ(heard[0].number, 0U);
    EXPECT_EQ(heard[2].number, 1U);
}

TEST_F(RunFeedTest, AWatcherThatThrowsIsAloneWithIt) {
    const auto broken = feed.subscribe("ann", RunFeed::Output::Shown, [](const FeedEvent&) {
        throw std::runtime_error("broken");
    });
    const auto sound = feed.subscribe("ann", RunFeed::Output::Shown, listener());
    const auto all = feed.subscribe(
        "eve", RunFeed::Output::Left, [](const FeedEvent&) { throw 1; }, RunFeed::Alerts::All);
    run("ann");
    EXPECT_EQ(names(), (Names{"run_started", "run_output", "run_output", "run_finished"}));
    EXPECT_EQ(feed.failures(), 4U);
    feed.alert("ann", "{}");
    EXPECT_EQ(names().back(), "alert");
    EXPECT_EQ(feed.failures(), 6U);
}

}  // namespace
}  // namespace belljar::engine
