#include "mcp/background_runs.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/serialize.hpp>

#include "mcp/testing/fake_executor.h"
#include "mcp/testing/schema_check.h"
#include "mcp/tool_provider.h"

namespace belljar::mcp {
namespace {

class BackgroundRunsTest : public testing::Test {
   protected:
    ToolOutcome call(std::string name, json::object arguments, std::string principal = "alice") {
        ToolRequest request{.name = std::move(name),
                            .arguments = std::move(arguments),
                            .asker = {.principal = std::move(principal)}};
        std::optional<ToolOutcome> outcome;
        asio::co_spawn(
            io, runs.call_tool(std::move(request), std::make_shared<engine::Cancellation>()),
            [&outcome](const std::exception_ptr& failure, RpcResult<Round<ToolOutcome>> round) {
                ASSERT_FALSE(failure);
                ASSERT_TRUE(round);
                outcome = std::get<ToolOutcome>(std::move(*round));
            });
        while (!outcome) {
            io.restart();
            io.run_one();
        }
        return *outcome;
    }

    std::string start(std::string principal = "alice") {
        const ToolOutcome outcome = call("start_run", {{"code", "1"}}, std::move(principal));
        EXPECT_FALSE(outcome.failed) << outcome.text;
        return std::string(outcome.structured->at("run_id").as_string());
    }

    void run_out() {
        runs.stop();
        io.restart();
        io.run();
    }

    void expect_schema(const std::string& name, const ToolOutcome& outcome) {
        for (const ToolDefinition& tool : runs.tools()) {
            if (tool.name == name) {
                EXPECT_EQ(schema_fault(*outcome.structured, tool.output_schema), "");
            }
        }
    }

    asio::io_context io;
    Log log{"test", LogLevel::Error};
    FakeExecutor executor;
    ToolProvider tools{executor};
    BackgroundRuns runs{io.get_executor(), executor, tools, log};
};

TEST_F(BackgroundRunsTest, ToolsAreDescribedInFull) {
    ASSERT_EQ(runs.tools().size(), 3U);
    for (const ToolDefinition& tool : runs.tools()) {
        EXPECT_TRUE(runs.has_tool(tool.name));
        EXPECT_GT(tool.description.size(), 100U);
        EXPECT_EQ(tool.input_schema.at("type"), json::value("object"));
        EXPECT_EQ(tool.output_schema.at("type"), json::value("object"));
        EXPECT_EQ(runs.tool_needs(tool.name, {}), access::Rights{access::Right::RunExec});
    }
    const access::Rights cells{access::Right::RunExec, access::Right::Sessions};
    EXPECT_EQ(runs.tool_needs("start_run", {{"session", true}}), cells);
    EXPECT_EQ(runs.tool_needs("start_run", {{"session_id", "x"}}), cells);
    EXPECT_TRUE(runs.tools()[0].input_schema.at("properties").as_object().contains("code"));
}

TEST_F(BackgroundRunsTest, GivesTheResultOfARunThatHasEnded) {
    const std::string id = start();
    EXPECT_EQ(id.size(), 32U);
    const ToolOutcome outcome = call("poll_run", {{"run_id", id}});
    expect_schema("poll_run", outcome);
    EXPECT_EQ(outcome.structured->at("status"), json::value("ended"));
    EXPECT_EQ(outcome.structured->at("result").at("stdout"), json::value("hello\n"));
    EXPECT_EQ(executor.requests.front().principal, "alice");
}

TEST_F(BackgroundRunsTest, ShowsOutputWhileItRuns) {
    executor.mode = FakeExecutor::Mode::WaitForCancellation;
    executor.output = {{engine::OutputStream::Stdout, "one\n"},
                       {engine::OutputStream::Stderr, "two\n"}};
    const std::string id = start();
    const ToolOutcome first = call("poll_run", {{"run_id", id}, {"wait_seconds", 0}});
    expect_schema("poll_run", first);
    EXPECT_EQ(first.structured->at("status"), json::value("running"));
    EXPECT_EQ(first.structured->at("output"), json::value("one\ntwo\n"));
    const json::value& next = first.structured->at("next");
    const ToolOutcome second =
        call("poll_run", {{"run_id", id}, {"wait_seconds", 0.01}, {"since", next}});
    EXPECT_EQ(second.structured->at("output"), json::value(""));
    const ToolOutcome stopped = call("cancel_run", {{"run_id", id}});
    expect_schema("cancel_run", stopped);
    EXPECT_FALSE(stopped.failed);
    EXPECT_EQ(stopped.structured->at("result").at("status"), json::value("cancelled"));
    run_out();
}

TEST_F(BackgroundRunsTest, UnknownAndForeignRunsAreTheSame) {
    const std::string id = start();
    for (const char* name : {"poll_run", "cancel_run"}) {
        const ToolOutcome foreign = call(name, {{"run_id", id}}, "bob");
        const ToolOutcome unknown = call(name, {{"run_id", std::string(32, '0')}}, "bob");
        EXPECT_TRUE(foreign.failed && unknown.failed);
        EXPECT_NE(foreign.text.find("start_run"), std::string::npos);
        EXPECT_EQ(foreign.text.size(), unknown.text.size());
    }
}

TEST_F(BackgroundRunsTest, BadArgumentsAreTold) {
    EXPECT_TRUE(call("start_run", {}).failed);
    EXPECT_TRUE(call("poll_run", {}).failed);
    EXPECT_TRUE(call("poll_run", {{"run_id", 5}}).failed);
    const std::string id = start();
    for (const json::object& more :
         {json::object{{"wait_seconds", 51}}, json::object{{"wait_seconds", "x"}},
          json::object{{"wait_seconds", -1}}, json::object{{"since", -1}},
          json::object{{"since", 1.5}}, json::object{{"other", 1}}}) {
        json::object arguments{{"run_id", id}};
        arguments.insert(more.begin(), more.end());
        EXPECT_TRUE(call("poll_run", arguments).failed) << json::serialize(more);
    }
}

TEST_F(BackgroundRunsTest, WhatIsRefusedSaysWhy) {
    executor.error = Error{.code = ErrorCode::Overloaded,
                           .message = "too much",
                           .retry_after = std::chrono::seconds(3)};
    const ToolOutcome outcome = call("poll_run", {{"run_id", start()}});
    expect_schema("poll_run", outcome);
    EXPECT_TRUE(outcome.failed);
    EXPECT_EQ(outcome.structured->at("status"), json::value("refused"));
    EXPECT_EQ(outcome.retry_after, std::chrono::seconds(3));
}

TEST_F(BackgroundRunsTest, NobodyHasTooManyUnderWay) {
    executor.mode = FakeExecutor::Mode::WaitForCancellation;
    for (std::size_t number = 0; number < BackgroundRuns::kMostEach; ++number) {
        [[maybe_unused]] const std::string id = start();
    }
    const ToolOutcome refused = call("start_run", {{"code", "1"}});
    EXPECT_TRUE(refused.failed);
    EXPECT_GT(refused.retry_after.count(), 0);
    EXPECT_FALSE(start("bob").empty());
    run_out();
    EXPECT_TRUE(call("start_run", {{"code", "1"}}, "carol").failed) << "it is stopping";
}

TEST_F(BackgroundRunsTest, OldResultsMakeRoom) {
    std::vector<std::string> ids;
    for (std::size_t number = 0; number < BackgroundRuns::kMost + 3; ++number) {
        ids.push_back(start());
    }
    EXPECT_TRUE(call("poll_run", {{"run_id", ids.front()}}).failed);
    EXPECT_FALSE(call("poll_run", {{"run_id", ids.back()}}).failed);
}

TEST_F(BackgroundRunsTest, ResultsTakeNoMoreThanTheyMay) {
    executor.result.stdout_stream.text = std::string(BackgroundRuns::kMostBytes / 2 + 1, 'x');
    const std::string first = start();
    EXPECT_FALSE(call("poll_run", {{"run_id", first}}).failed);
    const std::string second = start();
    EXPECT_FALSE(call("poll_run", {{"run_id", second}}).failed);
    EXPECT_TRUE(call("poll_run", {{"run_id", first}}).failed);
}

TEST(OutputTail, KeepsTheEndInWholeCharacters) {
    OutputTail tail;
    for (int number = 0; number < 100'000; ++number) {
        tail.add(engine::OutputStream::Stdout, "\xE2\x82\xAC");
    }
    const OutputTail::Shown shown = tail.since(0);
    EXPECT_EQ(shown.next, 300'000U);
    EXPECT_LE(shown.text.size(), OutputTail::kMostShown);
    EXPECT_TRUE(shown.text.starts_with("\xE2\x82\xAC"));
    EXPECT_EQ(shown.omitted + shown.text.size(), 300'000U);
    EXPECT_EQ(tail.since(shown.next).text, "");
    EXPECT_EQ(tail.since(999'999'999).text, "");
    tail.add(engine::OutputStream::Stderr, "!");
    EXPECT_EQ(tail.since(shown.next).text, "!");
}

}  // namespace
}  // namespace belljar::mcp
