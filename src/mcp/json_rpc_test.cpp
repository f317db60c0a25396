#include "mcp/json_rpc.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace belljar::mcp {
namespace {

std::expected<Message, BadMessage> parse(std::string_view text) {
    return parse_message(parse_json(text).value());
}

TEST(JsonRpc, ReadsRequests) {
    const auto message = parse(R"({"jsonrpc":"2.0","id":7,"method":"a","params":{"b":1}})");
    ASSERT_TRUE(message);
    EXPECT_EQ(message->kind, Message::Kind::Request);
    EXPECT_EQ(to_text(message->id), "7");
    EXPECT_EQ(message->method, "a");
    EXPECT_EQ(to_text(message->params), R"({"b":1})");
}

TEST(JsonRpc, ReadsNotificationsAndResponses) {
    EXPECT_EQ(parse(R"({"jsonrpc":"2.0","method":"a"})")->kind, Message::Kind::Notification);
    EXPECT_EQ(parse(R"({"jsonrpc":"2.0","id":1,"result":{}})")->kind, Message::Kind::Response);
    EXPECT_EQ(parse(R"({"jsonrpc":"2.0","id":1,"error":{}})")->kind, Message::Kind::Response);
}

TEST(JsonRpc, KeepsIdsExactly) {
    for (const std::string id : {R"("7")", "7", "-3", "0", R"("")", "18446744073709551615"}) {
        const auto message = parse(R"({"jsonrpc":"2.0","method":"a","id":)" + id + "}");
        ASSERT_TRUE(message) << id;
        EXPECT_EQ(to_text(message->id), id);
    }
}

TEST(JsonRpc, RefusesOtherIds) {
    for (const std::string id : {"null", "1.5", "1.0", "true", "{}", "[1]", "1e30"}) {
        const auto message = parse(R"({"jsonrpc":"2.0","method":"a","id":)" + id + "}");
        ASSERT_FALSE(message) << id;
        EXPECT_FALSE(message.error().id) << id;
        EXPECT_EQ(message.error().error.code, RpcCode::InvalidRequest) << id;
    }
}

TEST(JsonRpc, RefusesWhatIsNoMessage) {
    for (const std::string_view text :
         {"1", "null", R"("a")", "{}", R"({"jsonrpc":"2.0"})", R"({"jsonrpc":"1.0","method":"a"})",
          R"({"jsonrpc":2.0,"method":"a"})", R"({"jsonrpc":"2.0","method":1})",
          R"({"jsonrpc":"2.0","result":{}})"}) {
        const auto message = parse(text);
        ASSERT_FALSE(message) << text;
        EXPECT_EQ(message.error().error.code, RpcCode::InvalidRequest) << text;
    }
}

TEST(JsonRpc, KeepsTheIdOfABadRequest) {
    const auto message = parse(R"({"jsonrpc":"2.0","id":"x","method":"a","params":[1]})");
    ASSERT_FALSE(message);
    EXPECT_EQ(message.error().id, json::value("x"));
    EXPECT_EQ(message.error().error.message, "\"params\" must be an object, not an array.");
}

TEST(JsonRpc, WritesErrors) {
    const RpcError error{.code = RpcCode::InvalidParams, .message = "No."};
    EXPECT_EQ(error_message(std::nullopt, error),
              R"({"jsonrpc":"2.0","error":{"code":-32602,"message":"No."}})");
    EXPECT_EQ(error_message(json::value(nullptr), error),
              R"({"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"No."}})");
}

TEST(JsonRpc, WritesResultsInTwoParts) {
    for (const json::value& id :
         {json::value(7), json::value(-7), json::value(std::uint64_t{1} << 63U),
          json::value("a\"b"), json::value("")}) {
        const std::string whole =
            begin_result_message(id) + R"({"a":1})" + std::string(kEndOfMessage);
        EXPECT_EQ(whole, result_message(id, R"({"a":1})"));
        EXPECT_EQ(whole,
                  fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{"a":1}}}})", to_text(id)));
    }
}

TEST(JsonRpc, WritesResults) {
    EXPECT_EQ(result_message("a", "{}"), R"({"jsonrpc":"2.0","id":"a","result":{}})");
}

}  // namespace
}  // namespace belljar::mcp
