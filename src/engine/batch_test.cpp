#include "engine/batch.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json/array.hpp>
#include <map>
#include <set>

namespace belljar::engine {
namespace {

using execution::RunRequest;
using execution::RunResult;
using execution::Status;

// Runs are programs of one word: "ok", "bad", "wait" (until it is cancelled), "full" (refused for
// lack of room, once), "day" or "own" (refused for a quota that is used up for long, or until its
// owner ends something).
class ScriptedExecutor : public Executor {
   public:
    Task<Result<RunResult>> execute(RunRequest request, CancellationPtr cancellation,
                                    RunWatch /*watch*/) override {
        begun.push_back(request);
        ++running;
        most = std::max(most, running);
        Result<RunResult> result = co_await answer(request.code, std::move(cancellation));
        --running;
        co_return result;
    }
    [[nodiscard]] SandboxInfo info() const override { return {.batch_parallel = parallel}; }
    [[nodiscard]] RunFigures figures() const override { return {}; }

    asio::io_context context;
    std::vector<RunRequest> begun;
    std::size_t parallel = 4;
    std::size_t running = 0;
    std::size_t most = 0;

   private:
    Task<Result<RunResult>> answer(std::string code, CancellationPtr cancellation) {
        asio::steady_timer timer(context);
        timer.expires_after(std::chrono::hours(code == "wait" ? 1 : 0));
        cancellation->on_request([&timer] { timer.cancel(); });
        boost::system::error_code ignored;
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        cancellation->on_request(nullptr);
        if (code == "full" && refused_.insert(code).second) {
            co_return fail({.code = ErrorCode::Overloaded, .message = "full"});
        }
        if (code == "day" || code == "own") {
            co_return fail({.code = ErrorCode::QuotaReached,
                            .message = "used up",
                            .retry_after = std::chrono::hours(code == "day" ? 10 : 0)});
        }
        if (cancellation->requested()) {
            co_return RunResult{.status = Status::Cancelled};
        }
        co_return RunResult{.status = code == "bad" ? Status::Error : Status::Ok};
    }

    std::set<std::string> refused_;
};

class BatchTest : public testing::Test {
   protected:
    static Result<Batch> parse(const std::string& text) {
        return parse_batch_arguments(parse_json(text).value().as_object());
    }
    static Batch batch_of(const std::vector<std::string>& codes) {
        Batch batch;
        for (const std::string& code : codes) {
            batch.runs.push_back(RunRequest{.code = code});
        }
        return batch;
    }
    std::string states(Batch batch) {
        std::future<BatchResult> future =
            asio::co_spawn(executor.context,
                           run_batch(&executor, std::move(batch), "ann", cancellation,
                                     [this](std::size_t over) { progress.push_back(over); }),
                           asio::use_future);
        executor.context.run();
        result = future.get();
        std::string text;
        for (const BatchElement& element : result) {
            const auto* ran = std::get_if<RunResult>(&element);
            text +=
                ran != nullptr
                    ? std::string(execution::name_of(ran->status))
                    : std::string(std::holds_alternative<Error>(element) ? "refused" : "skipped");
            text += ' ';
        }
        return text;
    }

    ScriptedExecutor executor;
    CancellationPtr cancellation = std::make_shared<Cancellation>();
    BatchResult result;
    std::vector<std::size_t> progress;
};

TEST_F(BatchTest, ReadsItsArguments) {
    const Batch batch =
        parse(R"({"runs":[{"code":"1"},{"code":2},7],"stop_on_error":true,"parallel":3})").value();
    ASSERT_EQ(batch.runs.size(), 3U);
    EXPECT_EQ(batch.runs[0]->code, "1");
    EXPECT_FALSE(batch.runs[1]) << "its own error, in its place";
    EXPECT_FALSE(batch.runs[2]);
    EXPECT_EQ(batch.on_failure, Batch::OnFailure::Stop);
    EXPECT_EQ(batch.parallel, 3U);
}

TEST_F(BatchTest, RefusesWhatIsWrongWithTheWhole) {
    std::string many = R"({"runs":[{"code":"1"})";
    for (std::size_t index = 0; index < kLongestBatch; ++index) {
        many += R"(,{"code":"1"})";
    }
    for (const std::string& text :
         {std::string("{}"), std::string(R"({"runs":[]})"), std::string(R"({"runs":{}})"),
          std::string(R"({"runs":null})"), many + "]}",
          std::string(R"({"runs":[{"code":"1"}],"stop_on_error":1})"),
          std::string(R"({"runs":[{"code":"1"}],"parallel":0})"),
          std::string(R"({"runs":[{"code":"1"}],"parallel":65})"),
          std::string(R"({"runs":[{"code":"1"}],"parallel":"2"})"),
          std::string(R"({"runs":[{"code":"1"}],"paralel":2})")}) {
        const Result<Batch> batch = parse(text);
        ASSERT_FALSE(batch) << text;
        EXPECT_EQ(batch.error().code, ErrorCode::InvalidArgument);
        EXPECT_FALSE(batch.error().message.empty());
    }
}

TEST_F(BatchTest, GivesResultsInOrderAndForThePrincipal) {
    Batch batch = batch_of({"ok", "bad", "ok"});
    batch.runs.insert(batch.runs.begin() + 1, fail(ErrorCode::InvalidArgument, "wrong"));
    EXPECT_EQ(states(std::move(batch)), "ok refused error ok ");
    EXPECT_EQ(executor.begun.size(), 3U);
    EXPECT_EQ(executor.begun[0].principal, "ann");
    EXPECT_EQ(progress, (std::vector<std::size_t>{1, 2, 3, 4}));
    EXPECT_FALSE(succeeded(result));
    const json::object object = to_json(result);
    EXPECT_EQ(object.at("succeeded"), 2);
    EXPECT_EQ(object.at("failed"), 1);
    EXPECT_EQ(object.at("refused"), 1);
    EXPECT_EQ(object.at("results").at(1).at("error"), "wrong");
    EXPECT_EQ(object.at("results").at(3).at("index"), 3);
}

TEST_F(BatchTest, KeepsFewUnderWay) {
    states(batch_of(std::vector<std::string>(20, "ok")));
    EXPECT_EQ(executor.most, 4U);
    EXPECT_TRUE(succeeded(result));
}

TEST_F(BatchTest, CallerMayAskForFewer) {
    Batch batch = batch_of(std::vector<std::string>(5, "ok"));
    batch.parallel = 1;
    states(std::move(batch));
    EXPECT_EQ(executor.most, 1U);
}

TEST_F(BatchTest, StopsBehindTheFirstThatFails) {
    executor.parallel = 2;
    Batch batch = batch_of({"ok", "bad", "wait", "ok", "ok"});
    batch.on_failure = Batch::OnFailure::Stop;
    const std::string ended = states(std::move(batch));
    EXPECT_TRUE(ended.starts_with("ok error ")) << ended;
    EXPECT_TRUE(ended.ends_with("skipped skipped ")) << ended;
}

TEST_F(BatchTest, TriesAgainWhatFoundNoRoom) {
    EXPECT_EQ(states(batch_of({"full", "ok"})), "ok ok ");
    EXPECT_EQ(executor.begun.size(), 3U);
}

TEST_F(BatchTest, DoesNotTryAgainWhatWaitingCannotMend) {
    EXPECT_EQ(states(batch_of({"day", "own", "ok"})), "refused refused ok ");
    EXPECT_EQ(executor.begun.size(), 3U);
}

TEST_F(BatchTest, EndsWithItsCaller) {
    executor.parallel = 2;
    asio::post(executor.context,
               [this] { asio::post(executor.context, [this] { cancellation->request(); }); });
    EXPECT_EQ(states(batch_of({"wait", "wait", "ok", "ok"})),
              "cancelled cancelled skipped skipped ");
}

TEST_F(BatchTest, SharesTheSizeOfTheOutput) {
    Batch batch = batch_of(std::vector<std::string>(64, "ok"));
    batch.runs[0]->output = mebibytes(1);
    batch.runs[1]->output = kibibytes(1);
    states(std::move(batch));
    EXPECT_EQ(executor.begun[0].output, kibibytes(128));
    EXPECT_EQ(executor.begun[1].output, kibibytes(1));
    EXPECT_EQ(executor.begun[2].output, kibibytes(128)) << "less than the default";
    const auto& first = std::get<RunResult>(result[0]);
    ASSERT_EQ(first.capped.size(), 1U);
    EXPECT_EQ(first.capped[0].asked, "\"1m\"");
    EXPECT_TRUE(std::get<RunResult>(result[2]).capped.empty()) << "nothing was asked for";
}

}  // namespace
}  // namespace belljar::engine
