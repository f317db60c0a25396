#include "mcp/dispatcher.h"

#include <gtest/gtest.h>

#include "mcp/testing/fake_executor.h"
#include "mcp/testing/run_task.h"
#include "mcp/tool_provider.h"

namespace belljar::mcp {
namespace {

json::value message_of(const Reply& reply) { return parse_json(text_of(reply)).value(); }

class DispatcherTest : public testing::Test {
   protected:
    Reply answer(Revision revision, std::string_view method, std::string_view params = "{}") {
        Message message{.kind = Message::Kind::Request,
                        .id = "id",
                        .method = std::string(method),
                        .params = parse_json(params).value().as_object()};
        return run_task(dispatcher.answer({.message = std::move(message), .revision = revision},
                                          std::make_shared<engine::Cancellation>()));
    }

    FakeExecutor executor;
    asio::io_context io;
    Log log{"test", LogLevel::Error};
    Changes changes;
    Tasks tasks{io.get_executor(), log, changes};
    ToolProvider tools{executor, {}, Duration{}};
    Dispatcher dispatcher{Identity{.version = "1.2.3"}, {&tools}, changes, tasks, log};
};

class ThrowingProvider final : public Provider {
   public:
    bool has_tool(std::string_view /*name*/) const override { return true; }
    Task<RpcResult<Round<ToolOutcome>>> call_tool(ToolRequest /*request*/,
                                                  engine::CancellationPtr /*stop*/) override {
        throw std::runtime_error("of the host's");
        co_return ToolOutcome{};
    }
    Task<std::vector<ResourceDefinition>> resources(Asker /*asker*/) override {
        throw 7;
        co_return std::vector<ResourceDefinition>{};
    }
};

TEST_F(DispatcherTest, WhatIsThrownIsAnswered) {
    ThrowingProvider provider;
    Dispatcher throwing({}, {&provider}, changes, tasks, log);
    for (const char* method : {"tools/call", "resources/list"}) {
        const Reply reply = run_task(throwing.answer({.message = {.kind = Message::Kind::Request,
                                                                  .id = "id",
                                                                  .method = method,
                                                                  .params = {{"name", "any"}}},
                                                      .revision = Revision::V2025_06_18},
                                                     std::make_shared<engine::Cancellation>()));
        EXPECT_EQ(reply.error, RpcCode::InternalError) << method;
        EXPECT_EQ(message_of(reply).at("id"), json::value("id"));
        EXPECT_FALSE(text_of(reply).contains("host")) << "that is for the log";
    }
}

TEST_F(DispatcherTest, EachEraHasItsMethods) {
    struct Case {
        std::string_view method;
        bool modern;
        bool legacy;
    };
    for (const Case& test :
         {Case{"server/discover", true, false}, Case{"ping", false, true},
          Case{"initialize", false, true}, Case{"tools/list", true, true},
          Case{"tools/call", true, true}, Case{"tools/cal", false, false}, Case{"", false, false},
          Case{"resources/list", true, true}, Case{"logging/setLevel", false, true}}) {
        EXPECT_EQ(answer(Revision::V2026_07_28, test.method).error != RpcCode::MethodNotFound,
                  test.modern)
            << test.method;
        EXPECT_EQ(answer(Revision::V2025_11_25, test.method).error != RpcCode::MethodNotFound,
                  test.legacy)
            << test.method;
    }
}

TEST_F(DispatcherTest, EchoesTheId) {
    for (const std::string_view method : {"ping", "nothing"}) {
        EXPECT_EQ(message_of(answer(Revision::V2025_11_25, method)).at("id"), json::value("id"));
    }
}

TEST_F(DispatcherTest, ListsToolsOfTheSandboxAsItIs) {
    const auto list = [this](Revision revision) { return text_of(answer(revision, "tools/list")); };
    const std::string before = list(Revision::V2026_07_28);
    EXPECT_EQ(list(Revision::V2026_07_28), before);
    EXPECT_NE(list(Revision::V2024_11_05), before);
    executor.sandbox.default_limits.timeout = std::chrono::seconds(77);
    const std::string after = list(Revision::V2026_07_28);
    EXPECT_NE(after.find("77"), std::string::npos);
    EXPECT_EQ(list(Revision::V2026_07_28), after);
}

TEST_F(DispatcherTest, InitializeNegotiates) {
    const auto version = [&](std::string_view params) {
        return message_of(answer(Revision::V2025_03_26, "initialize", params))
            .at("result")
            .at("protocolVersion");
    };
    EXPECT_EQ(version(R"({"protocolVersion":"2024-11-05"})"), json::value("2024-11-05"));
    EXPECT_EQ(version(R"({"protocolVersion":"2026-07-28"})"), json::value("2025-11-25"));
    EXPECT_EQ(answer(Revision::V2025_03_26, "initialize", R"({"protocolVersion":1})").error,
              RpcCode::InvalidParams);
}

TEST_F(DispatcherTest, ChecksParams) {
    struct Case {
        std::string_view method;
        std::string_view params;
        std::optional<RpcCode> error;
    };
    for (const Case& test :
         {Case{"tools/list", R"({"cursor":""})", RpcCode::InvalidParams},
          Case{"tools/call", R"({})", RpcCode::InvalidParams},
          Case{"tools/call", R"({"name":1})", RpcCode::InvalidParams},
          Case{"tools/call", R"({"name":"nothing"})", RpcCode::InvalidParams},
          Case{"tools/call", R"({"name":"execute_code","arguments":[]})", RpcCode::InvalidParams},
          Case{"tools/call", R"({"name":"execute_code","arguments":null})", std::nullopt},
          Case{"tools/call", R"({"name":"get_sandbox_info"})", std::nullopt}}) {
        EXPECT_EQ(answer(Revision::V2026_07_28, test.method, test.params).error, test.error)
            << test.params;
    }
}

}  // namespace
}  // namespace belljar::mcp
