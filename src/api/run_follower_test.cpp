#include "api/run_follower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

namespace belljar::api {
namespace {

using access::HttpResponse;
using engine::OutputStream;
using engine::RunFeed;
using execution::RunRecord;
using execution::RunState;

// Takes its time to find a run.
class SlowRuns : public engine::Runs {
   public:
    Task<Result<RunRecord>> find(std::optional<std::string> /*principal*/,
                                 std::string /*execution_id*/) override {
        Result<RunRecord> found = record;
        if (const auto happens = std::exchange(meanwhile, nullptr)) {
            happens();
        }
        co_return found;
    }

    std::function<void()> meanwhile;
    RunRecord record{.view = {.execution_id = "run-1", .language = "python"}};
};

class FakeExecutor : public engine::Executor {
   public:
    Task<Result<execution::RunResult>> execute(execution::RunRequest /*request*/,
                                               engine::CancellationPtr /*cancellation*/,
                                               engine::RunWatch /*watch*/) override {
        co_return fail(ErrorCode::Internal, "nothing runs here");
    }
    [[nodiscard]] engine::Runs& runs() override { return remembered; }
    [[nodiscard]] engine::SandboxInfo info() const override { return {}; }
    [[nodiscard]] engine::RunFigures figures() const override { return {}; }

    SlowRuns remembered;
};

class RunFollowerTest : public testing::Test {
   protected:
    // The events of a follower of run-1; `during` happens while it waits for the end.
    std::string follow(const std::function<void()>& during = [] {}) {
        const auto stream = std::make_shared<access::ResponseStream>(
            access::ResponseStream::Reader{.on_open = [] {}, .on_piece = [] {}});
        asio::io_context context;
        std::future<HttpResponse> response = asio::co_spawn(
            context,
            follower.follow({.request = {.principal = "ann", .method = "GET", .stream = stream},
                             .path_values = {{"run_id", "run-1"}},
                             .cancellation = std::make_shared<engine::Cancellation>()}),
            asio::use_future);
        context.poll();
        during();
        context.run();
        EXPECT_EQ(response.get().status, 200U);
        return stream->take();
    }
    void start() { watch.on_start({.execution_id = "run-1", .language = "python"}); }
    void write(const std::string& text) { watch.on_output(OutputStream::Stdout, text); }
    void finish() {
        observation->finish(execution::RunResult{});
        executor.remembered.record.view.state = RunState::Ended;
        executor.remembered.record.result = R"({"stdout":"all"})";
    }

    FakeExecutor executor;
    RunFeed feed{RunFeed::Bounds{}};
    RunFollower follower{executor, &feed};
    std::shared_ptr<RunFeed::Observation> observation = feed.observe("ann");
    engine::RunWatch watch = observation->join({});
};

const std::string kStarted =
    "id: 1\nevent: started\ndata: {\"execution_id\":\"run-1\",\"language\":\"python\"}\n\n";
const std::string kEarly = "id: 2\nevent: stdout\ndata: {\"text\":\"early\"}\n\n";
const std::string kResult = "event: result\ndata: {\"stdout\":\"all\"}\n\n";

TEST_F(RunFollowerTest, TellsWhatHappensWhileTheRunIsLookedFor) {
    executor.remembered.meanwhile = [this] {
        start();
        write("early");
    };
    const std::string events = follow([this] {
        write("late");
        finish();
    });
    EXPECT_EQ(events, kStarted + kEarly + "id: 3\nevent: stdout\ndata: {\"text\":\"late\"}\n\n" +
                          "id: 4\n" + kResult);
}

TEST_F(RunFollowerTest, TellsAnEndThatComesWhileTheRunIsLookedFor) {
    executor.remembered.meanwhile = [this] {
        start();
        write("early");
        finish();
    };
    EXPECT_EQ(follow(), kStarted + kEarly + "id: 3\n" + kResult);
}

TEST_F(RunFollowerTest, TheBeginningComesBeforeWhatIsWrittenWhileTheRunIsLookedFor) {
    start();
    executor.remembered.record.view.state = RunState::Running;
    executor.remembered.meanwhile = [this] { write("early"); };
    EXPECT_EQ(follow([this] { finish(); }), kStarted + kEarly + "id: 3\n" + kResult);
}

TEST_F(RunFollowerTest, KeepsSoMuchWhileTheRunIsLookedForAndTellsOfTheRest) {
    constexpr std::size_t kWritten = 4UL * 1024 * 1024;
    executor.remembered.meanwhile = [this] {
        start();
        write(std::string(kWritten, '#'));
        finish();
    };
    const std::string events = follow();
    EXPECT_LT(events.size(), 2 * access::ResponseStream::kCapacity.count);
    const auto shown = static_cast<std::size_t>(std::ranges::count(events, '#'));
    EXPECT_GT(shown, 0U);
    EXPECT_NE(events.find("event: dropped\ndata: {\"bytes\":" + std::to_string(kWritten - shown)),
              std::string::npos);
    EXPECT_TRUE(events.ends_with(kResult));
}

TEST_F(RunFollowerTest, OtherRunsAndAlertsAreLeftOut) {
    executor.remembered.meanwhile = [this] { start(); };
    const std::string events = follow([this] {
        feed.alert("ann", R"({"rule":"denials"})");
        feed.alert("ann", R"({"rule":"escapes","execution_id":"run-1"})");
        feed.observe("ann")->join({}).on_start({.execution_id = "run-2"});
        finish();
    });
    EXPECT_EQ(events, kStarted + "id: 2\n" + kResult);
    EXPECT_EQ(feed.failures(), 0U);
}

}  // namespace
}  // namespace belljar::api
