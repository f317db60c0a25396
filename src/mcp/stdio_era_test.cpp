#include "mcp/stdio_era.h"

#include <gtest/gtest.h>

#include "mcp/era.h"

namespace belljar::mcp {
namespace {

Message plain(std::string_view method, json::object params = {}) {
    return {.kind = Message::Kind::Request,
            .id = 1,
            .method = std::string(method),
            .params = std::move(params)};
}

Message claiming(std::string_view method, std::string_view version = "2026-07-28") {
    return plain(method, {{"_meta",
                           {{std::string(kProtocolVersionKey), version},
                            {std::string(kClientCapabilitiesKey), json::object{}}}}});
}

Message initialize(std::string_view version) {
    return plain("initialize", {{"protocolVersion", version}});
}

TEST(StdioEra, DiscoverSettlesNothing) {
    StdioEra era;
    EXPECT_EQ(era.admit(claiming("server/discover")), Revision::V2026_07_28);
    EXPECT_EQ(era.admit(initialize("2025-06-18")), Revision::V2025_06_18);
    EXPECT_EQ(era.admit(claiming("server/discover")), Revision::V2025_06_18);
    EXPECT_TRUE(era.settled_legacy());
}

TEST(StdioEra, AnUnservedVersionSettlesNothing) {
    StdioEra era;
    EXPECT_EQ(era.admit(claiming("server/discover", "2099-01-01")).error().code,
              RpcCode::UnsupportedVersion);
    EXPECT_EQ(era.admit(claiming("tools/list", "2099-01-01")).error().code,
              RpcCode::UnsupportedVersion);
    EXPECT_EQ(era.admit(initialize("2025-06-18")), Revision::V2025_06_18);
}

TEST(StdioEra, ModernStaysModern) {
    StdioEra era;
    EXPECT_EQ(era.admit(claiming("tools/list")), Revision::V2026_07_28);
    EXPECT_EQ(era.admit(initialize("2025-06-18")).error().code, RpcCode::UnsupportedVersion);
    EXPECT_EQ(era.admit(plain("tools/list")).error().code, RpcCode::InvalidParams);
    EXPECT_EQ(era.admit(claiming("server/discover")), Revision::V2026_07_28);
    EXPECT_EQ(era.legacy_revision(), std::nullopt);
}

TEST(StdioEra, AnyRequestWithoutClaimIsLegacy) {
    StdioEra era;
    EXPECT_EQ(era.admit(plain("ping")), Revision::V2025_03_26);
    EXPECT_TRUE(era.settled_legacy());
    EXPECT_EQ(era.admit(initialize("2024-11-05")), Revision::V2024_11_05);
    EXPECT_EQ(era.admit(claiming("tools/list")), Revision::V2024_11_05);
}

TEST(StdioEra, AMalformedClaimIsRefusedAndSettlesNothing) {
    StdioEra era;
    Message request = claiming("tools/list");
    request.params.at("_meta").as_object()[kProtocolVersionKey] = 7;
    EXPECT_EQ(era.admit(request).error().code, RpcCode::InvalidParams);
    EXPECT_EQ(era.legacy_revision(), Revision::V2025_03_26);
    EXPECT_FALSE(era.settled_legacy());
}

}  // namespace
}  // namespace belljar::mcp
