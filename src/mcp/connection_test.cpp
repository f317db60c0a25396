#include "mcp/connection.h"

#include <gtest/gtest.h>

#include <vector>

#include "mcp/server.h"
#include "mcp/testing/fake_executor.h"
#include "mcp/testing/run_task.h"
#include "mcp/testing/vectors.h"

namespace belljar::mcp {
namespace {

const std::string kCall = R"({"jsonrpc":"2.0","id":5,"method":"tools/call",)"
                          R"("params":{"name":"execute_code","arguments":{"code":"1"}}})";

class ConnectionTest : public testing::Test {
   protected:
    std::optional<std::string> line(std::string text) {
        return run_task(connection.handle(std::move(text)));
    }

    json::value answer(std::string text) {
        return parse_json(line(std::move(text)).value_or("null")).value();
    }

    int error(std::string text) {
        const json::value message = answer(std::move(text));
        const json::value* found = message.as_object().if_contains("error");
        return found != nullptr ? found->at("code").to_number<int>() : 0;
    }

    // Starts handling a line; its answer lands in `answers` once the context ran far enough.
    void start(asio::io_context& context, std::string text) {
        asio::co_spawn(context, connection.handle(std::move(text)),
                       [this](std::exception_ptr failure, std::optional<std::string> reply) {
                           EXPECT_FALSE(failure);
                           answers.push_back(std::move(reply));
                       });
    }

    FakeExecutor executor;
    asio::io_context io;
    Log log{"test", LogLevel::Error};
    Server server{io.get_executor(), executor, {.identity = {.version = "1.2.3"}}, log};
    Connection connection{server.dispatcher(), server.changes()};
    std::vector<std::optional<std::string>> answers;
};

TEST_F(ConnectionTest, ModernThenInitialize) {
    EXPECT_EQ(error(modern("server/discover")), 0);
    EXPECT_EQ(error(modern("tools/list")), 0);
    const json::value refused = answer(request("initialize", R"("protocolVersion":"2025-06-18")"));
    EXPECT_EQ(to_text(refused.at_pointer("/error/data")),
              R"({"supported":["2026-07-28"],"requested":"2025-06-18"})");
    EXPECT_EQ(error(modern("ping")), -32601);
    EXPECT_EQ(error(request("tools/list")), -32602);
}

TEST_F(ConnectionTest, ProbeThenInitialize) {
    EXPECT_EQ(error(request("server/discover", meta("2099-01-01"))), -32022);
    const json::value legacy = answer(request("initialize", R"("protocolVersion":"2025-06-18")"));
    EXPECT_EQ(legacy.at_pointer("/result/protocolVersion"), json::value("2025-06-18"));
    EXPECT_EQ(line(notification("notifications/initialized")), std::nullopt);
    EXPECT_EQ(error(modern("server/discover")), -32601);
    EXPECT_EQ(line(request("ping")), R"({"jsonrpc":"2.0","id":1,"result":{}})");
}

TEST_F(ConnectionTest, LegacyAnswersFitTheNegotiatedRevision) {
    line(request("initialize", R"("protocolVersion":"2024-11-05")"));
    const json::value old = answer(request("tools/list"));
    EXPECT_FALSE(old.at_pointer("/result/tools/0").as_object().contains("annotations"));
    line(request("initialize", R"("protocolVersion":"2025-11-25")"));
    const json::value newer = answer(request("tools/list"));
    EXPECT_TRUE(newer.at_pointer("/result/tools/0").as_object().contains("outputSchema"));
}

TEST_F(ConnectionTest, BlankLinesAndResponsesAreIgnored) {
    for (const char* text : {"", " ", "\r", "\t \r\n"}) {
        EXPECT_EQ(line(text), std::nullopt);
    }
    EXPECT_EQ(line(R"({"jsonrpc":"2.0","id":1,"result":{}})"), std::nullopt);
    EXPECT_TRUE(line(request("ping") + "\r"));
}

TEST_F(ConnectionTest, UnreadableIdsFollowTheEra) {
    EXPECT_FALSE(answer("{bad").as_object().contains("id"));
    line(request("ping"));
    EXPECT_EQ(answer("{bad").at("id"), json::value(nullptr));
    EXPECT_EQ(error("{bad"), -32700);
    EXPECT_EQ(error(R"({"jsonrpc":"2.0","id":{},"method":"ping"})"), -32600);
}

TEST_F(ConnectionTest, BatchesFollowTheRevision) {
    const std::string batch = "[" + request("ping") + "," + notification("notifications/x") + "]";
    EXPECT_EQ(line(batch), R"([{"jsonrpc":"2.0","id":1,"result":{}}])");
    EXPECT_EQ(line("[" + notification("notifications/x") + "]"), std::nullopt);
    EXPECT_EQ(error("[]"), -32600);
    EXPECT_EQ(answer("[" + request("initialize") + "]").at_pointer("/0/error/code"),
              json::value(-32600));
    line(request("initialize", R"("protocolVersion":"2025-06-18")"));
    EXPECT_EQ(error(batch), -32600);
}

TEST_F(ConnectionTest, NoBatchesOnceModern) {
    line(modern("tools/list"));
    EXPECT_EQ(error("[" + request("ping") + "]"), -32600);
}

TEST_F(ConnectionTest, ACancelledRequestIsNotAnswered) {
    executor.mode = FakeExecutor::Mode::WaitForCancellation;
    asio::io_context context;
    start(context, kCall);
    context.poll();
    ASSERT_EQ(executor.requests.size(), 1U);
    start(context, notification("notifications/cancelled", R"("requestId":"5")"));
    start(context, notification("notifications/cancelled", R"("requestId":6)"));
    start(context, notification("notifications/cancelled"));
    start(context, request("ping"));
    context.poll();
    EXPECT_EQ(answers.size(), 4U);  // all but the run, which still waits
    EXPECT_TRUE(answers[3].has_value());
    start(context, notification("notifications/cancelled", R"("requestId":5)"));
    context.run();
    ASSERT_EQ(answers.size(), 6U);
    EXPECT_EQ(answers[5], std::nullopt);
}

TEST_F(ConnectionTest, AnIdInUseIsRefusedAndFreeAgainAfterwards) {
    executor.mode = FakeExecutor::Mode::WaitForCancellation;
    asio::io_context context;
    start(context, kCall);
    start(context, kCall);
    context.poll();
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_NE(answers[0]->find("-32600"), std::string::npos);
    connection.cancel_all();
    context.run();
    ASSERT_EQ(answers.size(), 2U);
    EXPECT_EQ(answers[1], std::nullopt);
    executor.mode = FakeExecutor::Mode::AnswerAtOnce;
    EXPECT_EQ(error(kCall), 0);
}

TEST_F(ConnectionTest, RequestsInFlightAreBounded) {
    executor.mode = FakeExecutor::Mode::WaitForCancellation;
    asio::io_context context;
    for (int id = 0; id < 257; ++id) {
        std::string text = kCall;
        text.replace(text.find("5,"), 1, std::to_string(id));
        start(context, text);
    }
    context.poll();
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_NE(answers[0]->find("-32603"), std::string::npos);
    connection.cancel_all();
    context.run();
    EXPECT_EQ(answers.size(), 257U);
}

TEST_F(ConnectionTest, LogLevelIsRememberedByTheConnection) {
    std::vector<std::string> told;
    connection.on_notification([&](std::string message) {
        told.push_back(std::move(message));
        return true;
    });
    executor.output = {{engine::OutputStream::Stdout, "out"},
                       {engine::OutputStream::Stderr, "err"}};
    const json::value hello = answer(request("initialize", R"("protocolVersion":"2025-06-18")"));
    EXPECT_TRUE(hello.at_pointer("/result/capabilities").as_object().contains("logging"));
    answer(kCall);
    EXPECT_TRUE(told.empty()) << "nobody has asked";
    EXPECT_EQ(error(request("logging/setLevel", R"("level":"loud")")), -32602);
    EXPECT_EQ(error(request("logging/setLevel", R"("level":"warning")")), 0);
    answer(kCall);
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(parse_json(told[0]).value().at_pointer("/params/data/text"), "err");
}

}  // namespace
}  // namespace belljar::mcp
