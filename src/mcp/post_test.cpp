#include "mcp/post.h"

#include <gtest/gtest.h>

#include "mcp/testing/vectors.h"

namespace belljar::mcp {
namespace {

access::HttpRequest post(std::string body, access::Headers headers = {}) {
    headers.emplace("content-type", "application/json");
    return {
        .method = "POST", .path = "/mcp", .headers = std::move(headers), .body = std::move(body)};
}

TEST(Post, ContentTypeMustBeJson) {
    access::HttpRequest request{.method = "POST", .body = "{}"};
    EXPECT_EQ(read_post(request).error().status, 415U);
    for (const char* type : {"text/plain", "application/jsonp", "application/json-rpc", ""}) {
        request.headers = {{"Content-Type", type}};
        EXPECT_EQ(read_post(request).error().status, 415U) << type;
    }
    for (const char* type : {"Application/JSON", "application/json; charset=utf-8"}) {
        request.headers = {{"Content-Type", type}};
        EXPECT_EQ(read_post(request).error().status, 400U) << type;
    }
}

TEST(Post, UnreadableIdsFollowTheEra) {
    const auto legacy = read_post(post("{bad"));
    EXPECT_EQ(legacy.error().error.code, RpcCode::ParseError);
    EXPECT_EQ(legacy.error().id, json::value(nullptr));
    const auto by_header = read_post(post("{bad", {{"MCP-Protocol-Version", "2026-07-28"}}));
    EXPECT_EQ(by_header.error().id, std::nullopt);
    const auto by_claim =
        read_post(post(R"({"jsonrpc":"2.0","id":null,"method":"a","params":{)" + meta() + "}}"));
    EXPECT_EQ(by_claim.error().error.code, RpcCode::InvalidRequest);
    EXPECT_EQ(by_claim.error().id, std::nullopt);
}

TEST(Post, LegacyRevisionComesFromTheHeader) {
    const auto revision = [](access::Headers headers) {
        return std::get<Call>(read_post(post(request("ping"), std::move(headers))).value())
            .revision;
    };
    EXPECT_EQ(revision({}), Revision::V2025_03_26);
    EXPECT_EQ(revision({{"mcp-protocol-version", " 2024-11-05 "}}), Revision::V2024_11_05);
    EXPECT_EQ(revision({{"MCP-Protocol-Version", "2025-11-25"}}), Revision::V2025_11_25);
}

TEST(Post, UnknownLegacyVersionsAreRefused) {
    for (const char* version : {"2000-01-01", "banana", "", "v999"}) {
        for (const char* method : {"ping", "initialize"}) {
            const auto refused =
                read_post(post(request(method), {{"MCP-Protocol-Version", version}}));
            ASSERT_FALSE(refused) << version;
            EXPECT_EQ(refused.error().status, 400U) << version;
            EXPECT_EQ(refused.error().id, json::value(1)) << version;
        }
    }
}

TEST(Post, LegacyAcceptMustAllowBothForms) {
    const auto status = [](access::Headers headers) {
        const auto read = read_post(post(request("ping"), std::move(headers)));
        return read ? 200U : read.error().status;
    };
    EXPECT_EQ(status({}), 200U);
    EXPECT_EQ(status({{"Accept", "*/*"}}), 200U);
    EXPECT_EQ(status({{"Accept", "text/event-stream;q=0.5, Application/Json"}}), 200U);
    EXPECT_EQ(status({{"Accept", "application/json"}, {"Accept", "text/event-stream"}}), 200U);
    EXPECT_EQ(status({{"Accept", "application/*, text/*"}}), 200U);
    EXPECT_EQ(status({{"Accept", "application/json"}}), 406U);
    EXPECT_EQ(status({{"Accept", "text/event-stream"}}), 406U);
    EXPECT_EQ(status({{"Accept", "text/html"}}), 406U);
    EXPECT_EQ(status({{"Accept", ""}}), 406U);
}

TEST(Post, BatchesBelongToOneRevision) {
    const std::string batch = "[" + request("ping") + "]";
    EXPECT_TRUE(read_post(post(batch)));
    EXPECT_TRUE(read_post(post(batch, {{"MCP-Protocol-Version", "2025-03-26"}})));
    for (const char* version : {"2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28", "x"}) {
        const auto refused = read_post(post(batch, {{"MCP-Protocol-Version", version}}));
        ASSERT_FALSE(refused) << version;
        EXPECT_EQ(refused.error().status, 400U);
        EXPECT_EQ(refused.error().error.code, RpcCode::InvalidRequest);
    }
    EXPECT_EQ(read_post(post(batch, {{"Accept", "text/html"}})).error().status, 406U);
}

TEST(Post, AHeaderGivenTwiceMustAgree) {
    const access::Headers twice{{"MCP-Protocol-Version", "2025-11-25"},
                                {"MCP-Protocol-Version", "2025-03-26"}};
    EXPECT_EQ(read_post(post(request("ping"), twice)).error().error.code, RpcCode::HeaderMismatch);
    EXPECT_FALSE(read_post(post("[" + request("ping") + "]", twice)));
}

TEST(Post, OnlyLegacyClientsAreAskedSomethingToRespondTo) {
    const std::string response = R"({"jsonrpc":"2.0","id":4,"result":{}})";
    const auto legacy = read_post(post(response));
    ASSERT_TRUE(legacy);
    EXPECT_EQ(std::get<Call>(*legacy).message.kind, Message::Kind::Response);
    const auto modern = read_post(post(response, {{"MCP-Protocol-Version", "2026-07-28"}}));
    ASSERT_FALSE(modern);
    EXPECT_EQ(modern.error().error.code, RpcCode::InvalidRequest);
    EXPECT_EQ(modern.error().id, std::nullopt);
}

TEST(Post, NotificationsNeedNoHeaders) {
    EXPECT_TRUE(read_post(post(notification("notifications/initialized"))));
    EXPECT_TRUE(read_post(post(notification("notifications/x", meta()))));
    EXPECT_TRUE(
        read_post(post(notification("notifications/x"), {{"MCP-Protocol-Version", "2026-07-28"}})));
    EXPECT_FALSE(
        read_post(post(notification("notifications/x"), {{"MCP-Protocol-Version", "2000-01-01"}})));
}

}  // namespace
}  // namespace belljar::mcp
