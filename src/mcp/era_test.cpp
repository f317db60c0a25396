#include "mcp/era.h"

#include <gtest/gtest.h>

namespace belljar::mcp {
namespace {

using Header = std::optional<std::string>;

json::object claiming(const json::value& version) {
    return {{"_meta", {{std::string(kProtocolVersionKey), version}}}};
}

Message request(std::string method, json::object params = {}) {
    return {.kind = Message::Kind::Request, .id = 1, .method = method, .params = params};
}

struct Case {
    Message message;
    Header header;
    std::optional<Era> era;  // none: refused with `code`
    RpcCode code = RpcCode::InternalError;
};

TEST(Era, IsToldByBodyThenHeader) {
    const std::vector<Case> cases{
        {request("tools/list"), std::nullopt, Era::Legacy},
        {request("tools/list"), "2025-11-25", Era::Legacy},
        {request("tools/list"), "2000-01-01", Era::Legacy},
        {request("tools/list"), "2026-07-28", std::nullopt, RpcCode::InvalidParams},
        {request("tools/list"), "2099-01-01", std::nullopt, RpcCode::InvalidParams},
        {request("tools/list", claiming("2026-07-28")), std::nullopt, Era::Modern},
        {request("tools/list", claiming("2025-11-25")), std::nullopt, Era::Modern},
        {request("tools/list", claiming(7)), std::nullopt, Era::Modern},
        {request("initialize"), std::nullopt, Era::Legacy},
        {request("initialize"), "2026-07-28", std::nullopt, RpcCode::HeaderMismatch},
        {request("initialize", claiming("2026-07-28")), "2026-07-28", Era::Modern},
        {request("initialize", claiming("2025-11-25")), std::nullopt, Era::Legacy},
        {request("initialize", claiming(nullptr)), std::nullopt, Era::Legacy},
        {request("tools/list", {{"_meta", 3}}), std::nullopt, Era::Legacy},
    };
    for (const Case& test : cases) {
        const RpcResult<Era> era = classify(test.message, test.header);
        const std::string name =
            test.message.method + to_text(test.message.params) + test.header.value_or("");
        ASSERT_EQ(era.has_value(), test.era.has_value()) << name;
        if (era) {
            EXPECT_EQ(*era, *test.era) << name;
        } else {
            EXPECT_EQ(era.error().code, test.code) << name;
        }
    }
}

TEST(Era, OfNotificationsIsNeverRefused) {
    Message message{.kind = Message::Kind::Notification, .method = "notifications/x"};
    EXPECT_EQ(classify(message, std::nullopt), Era::Legacy);
    EXPECT_EQ(classify(message, "2026-07-28"), Era::Modern);
    message.params = claiming("2026-07-28");
    EXPECT_EQ(classify(message, std::nullopt), Era::Modern);
}

TEST(Era, FindsClaimsInUnparsedMessages) {
    const json::value message{{"params", claiming("x")}};
    ASSERT_NE(version_claim_of(message), nullptr);
    EXPECT_EQ(*version_claim_of(message), json::value("x"));
    EXPECT_EQ(version_claim_of(json::value(1)), nullptr);
    EXPECT_EQ(version_claim_of(json::value{{"params", 1}}), nullptr);
}

}  // namespace
}  // namespace belljar::mcp
