#include "engine/kept_runs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "base/json.h"
#include "engine/result_text.h"

namespace belljar::engine {
namespace {

using execution::RepeatClaim;
using execution::RunRequest;
using execution::RunResult;
using execution::RunState;
using execution::Status;

class KeptRunsTest : public ::testing::Test {
   protected:
    void SetUp() override {
        std::string name = ::testing::TempDir() + "runs-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        top = name;
        data.emplace(*storage::DataDirectory::open_shared(top));
        database = *storage::StateDatabase::prepare(*data, {}, log);
        ASSERT_TRUE(database->start());
        state.emplace(io.get_executor(), *database);
        runs.emplace(
            io.get_executor(), *database, *state,
            [this](RunRequest request, CancellationPtr cancellation) {
                return execute(std::move(request), std::move(cancellation));
            },
            log);
    }
    void TearDown() override {
        database->stop();
        std::filesystem::remove_all(top);
    }

    // As the engine does it; waits until it is cancelled if the program is "wait".
    Task<Result<RunResult>> execute(RunRequest request, CancellationPtr cancellation) {
        if (request.code == "refuse") {
            co_return fail(ErrorCode::Unavailable, "not today");
        }
        const auto record = runs->observe(request, "", cancellation);
        const RunWatch watch = record->join({});
        const std::string id = request.execution_id.empty() ? "given" : request.execution_id;
        watch.on_start({.execution_id = id, .language = "python"});
        RunResult result{.execution_id = id, .language = "python", .status = Status::Ok};
        if (request.code == "wait") {
            asio::steady_timer forever(io, std::chrono::seconds(30));
            cancellation->on_request([&forever] { forever.cancel(); });
            boost::system::error_code ignored;
            co_await forever.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
            cancellation->on_request(nullptr);
            result.status = Status::Cancelled;
        }
        result.stdout_stream = {.text = "hello", .bytes = 5};
        result.usage.cpu = std::chrono::milliseconds(250);
        record->finish(std::make_shared<const Result<RunResult>>(result));
        co_return result;
    }

    template <typename Value>
    Value run(Task<Value> task) {
        std::optional<Value> result;
        asio::co_spawn(io, std::move(task), [&](const std::exception_ptr& failure, Value value) {
            ASSERT_FALSE(failure);
            result.emplace(std::move(value));
        });
        io.restart();
        while (!result) {
            io.run_one();
        }
        return std::move(*result);
    }
    Result<RunResult> run_code(std::string code, std::string principal = "ann") {
        return run(execute({.principal = std::move(principal), .code = std::move(code)},
                           std::make_shared<Cancellation>()));
    }

    std::filesystem::path top;
    Log log{"test", LogLevel::Error};
    asio::io_context io{1};
    std::optional<storage::DataDirectory> data;
    std::unique_ptr<storage::StateDatabase> database;
    std::optional<KeptState> state;
    std::optional<KeptRuns> runs;
};

TEST_F(KeptRunsTest, RecordsWhatWasRun) {
    ASSERT_TRUE(run_code("print('hello')"));
    const auto record = run(runs->find("ann", "given"));
    ASSERT_TRUE(record) << record.error().describe();
    EXPECT_EQ(record->view.state, RunState::Ended);
    EXPECT_EQ(record->view.status, Status::Ok);
    EXPECT_EQ(record->view.output_bytes, 5U);
    EXPECT_EQ(record->view.code_bytes, 14U);
    EXPECT_TRUE(record->view.started && record->view.ended);
    ASSERT_TRUE(record->result);
    const Result<json::value> result = parse_json(*record->result);
    EXPECT_EQ(result->at("stdout").as_string(), "hello");
    EXPECT_EQ(run(runs->find("bob", "given")).error().code, ErrorCode::NotFound);
    EXPECT_EQ(run(runs->cancel("bob", "given")).error().code, ErrorCode::NotFound);
    EXPECT_EQ(run(runs->cancel("ann", "given")).error().code, ErrorCode::Conflict);
    const execution::DailyUsage used = state->used_today("ann");
    EXPECT_EQ(used.runs, 1U);
    EXPECT_EQ(used.cpu, std::chrono::milliseconds(250));
    EXPECT_EQ(state->used_today("bob").runs, 0U);
    const auto usage = run(state->usage({.principal = "ann"}));
    ASSERT_EQ(usage->size(), 1U);
    EXPECT_EQ(usage->front().cpu, used.cpu);
}

TEST_F(KeptRunsTest, ARunInTheBackgroundIsFoundAndCancelled) {
    const auto begun = run(runs->start({.principal = "ann", .code = "wait", .label = "u1"}));
    ASSERT_TRUE(begun);
    EXPECT_EQ(begun->state, RunState::Queued);
    const std::string id = begun->execution_id;
    auto found = run(runs->find("ann", id));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->view.label, "u1");
    EXPECT_FALSE(found->result);
    EXPECT_EQ(run(runs->cancel("bob", id)).error().code, ErrorCode::NotFound);
    ASSERT_TRUE(run(runs->cancel(std::nullopt, id)));
    do {
        found = run(runs->find("ann", id));
        ASSERT_TRUE(found);
    } while (found->view.state != RunState::Ended);
    EXPECT_EQ(found->view.status, Status::Cancelled);
    EXPECT_TRUE(found->result);
}

TEST_F(KeptRunsTest, ARefusalInTheBackgroundIsRecorded) {
    const auto begun = run(runs->start({.principal = "ann", .code = "refuse"}));
    ASSERT_TRUE(begun);
    Result<execution::RunRecord> found = fail(ErrorCode::NotFound, "");
    do {
        found = run(runs->find("ann", begun->execution_id));
        ASSERT_TRUE(found);
    } while (found->view.state != RunState::Ended);
    EXPECT_EQ(found->view.failure, "not today");
    EXPECT_EQ(run(runs->cancel("ann", begun->execution_id)).error().code, ErrorCode::Conflict);
}

TEST_F(KeptRunsTest, RunsInTheBackgroundAreBounded) {
    Result<execution::RunView> begun = fail(ErrorCode::NotFound, "");
    std::size_t count = 0;
    do {
        begun = run(runs->start({.principal = "ann", .code = "wait"}));
        count += begun ? 1 : 0;
    } while (begun && count < 100);
    EXPECT_EQ(count, KeptRuns::Bounds{}.background_each);
    EXPECT_EQ(begun.error().code, ErrorCode::QuotaReached);
    EXPECT_TRUE(run(runs->start({.principal = "bob", .code = "wait"})));
    runs->close();
    EXPECT_EQ(run(runs->start({.principal = "eve", .code = "wait"})).error().code,
              ErrorCode::Unavailable);
    io.restart();
    io.run();
    const auto page = run(runs->list({.state = RunState::Running}));
    EXPECT_TRUE(page->runs.empty());
}

TEST_F(KeptRunsTest, EndsAllOfAPrincipalAndWhatStillWaitsForItsTurn) {
    std::map<std::string, CancellationPtr> wishes;
    std::vector<std::shared_ptr<KeptRuns::Observation>> records;
    for (const std::string principal : {"ann", "bob"}) {
        wishes[principal] = std::make_shared<Cancellation>();
        records.push_back(runs->observe({.principal = principal}, "", wishes[principal]));
    }
    runs->cancel_all_of("ann");
    EXPECT_TRUE(wishes["ann"]->requested());
    runs->cancel_all_of("eve");
    EXPECT_FALSE(wishes["bob"]->requested());
    for (const auto& record : records) {
        record->finish(std::make_shared<const Result<RunResult>>(fail(ErrorCode::Cancelled, "")));
    }
    runs->cancel_all_of("bob");
    EXPECT_FALSE(wishes["bob"]->requested()) << "it is over";
}

TEST_F(KeptRunsTest, AKeyIsClaimedOnceAndAMarkUsedOnce) {
    const execution::RepeatKey key{.principal = "ann", .key = "k", .digest = "d"};
    EXPECT_EQ(run(state->claim(key))->kind, RepeatClaim::Kind::Fresh);
    EXPECT_EQ(run(state->claim(key))->kind, RepeatClaim::Kind::InProgress);
    ASSERT_TRUE(run(state->release(key)));
    EXPECT_EQ(run(state->claim(key))->kind, RepeatClaim::Kind::Fresh);
    ASSERT_TRUE(run(state->settle(key, {.status = 200, .body = "b"})));
    EXPECT_EQ(run(state->claim(key))->answer->body, "b");
    EXPECT_TRUE(run(state->use_once("m", execution::kNever)));
    EXPECT_EQ(run(state->use_once("m", execution::kNever)).error().code, ErrorCode::Conflict);
}

TEST_F(KeptRunsTest, UsageOfAnEarlierServerCounts) {
    state->remember({{.principal = "ann", .day = state->used_today("ann").day, .runs = 7},
                     {.principal = "bob", .day = "2020-01-01", .runs = 9}});
    EXPECT_EQ(state->used_today("ann").runs, 7U);
    EXPECT_EQ(state->used_today("bob").runs, 0U);
}

TEST(ResultText, IsWholeIfItIsNotTooLong) {
    RunResult result{.execution_id = "x"};
    result.stdout_stream.text = "text";
    const Result<json::value> record = parse_json(remembered_text(result));
    EXPECT_EQ(record->at("stdout").as_string(), "text");
    EXPECT_FALSE(record->as_object().contains("record_shortened"));
}

TEST(ResultText, IsShortenedAndSaysSo) {
    RunResult result{.execution_id = "x", .status = Status::Ok};
    result.stdout_stream.text = std::string(900'000, '\x01');
    result.stderr_stream.text = std::string(900'000, 'e');
    result.result_json = '"' + std::string(500'000, 'r') + '"';
    result.outputs.push_back({.bundle = {{"text/plain", std::string(500'000, 'o')}}});
    for (int index = 0; index < 20'000; ++index) {
        result.files.push_back({.name = "file" + std::to_string(index)});
    }
    const std::string text = remembered_text(result);
    EXPECT_LE(text.size(), kLongestResult);
    const Result<json::value> record = parse_json(text);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->at("record_shortened").as_array().size(), 5U);
    EXPECT_TRUE(record->at("stdout_truncated").as_bool());
    EXPECT_EQ(record->at("status").as_string(), "ok");
    EXPECT_GT(record->at("files").as_array().size(), 10U);
}

}  // namespace
}  // namespace belljar::engine
