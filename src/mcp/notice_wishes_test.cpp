#include "mcp/notice_wishes.h"

#include <gtest/gtest.h>

#include <boost/json/object.hpp>

namespace belljar::mcp {
namespace {

RpcResult<NoticeWishes> wishes(const std::string& meta, Revision revision = kModernRevision,
                               const ConnectionMemory* memory = nullptr) {
    const json::object params = parse_json(R"({"_meta":)" + meta + "}").value().as_object();
    return read_wishes(params, revision, memory);
}

TEST(NoticeWishes, NothingIsWantedThatWasNotAskedFor) {
    EXPECT_FALSE(read_wishes({}, kModernRevision, nullptr)->any());
    EXPECT_FALSE(wishes("{}")->any());
    EXPECT_FALSE(wishes("7")->any());
}

TEST(NoticeWishes, ProgressTokenIsAStringOrAnInteger) {
    EXPECT_EQ(wishes(R"({"progressToken":"a"})")->progress_token, "a");
    EXPECT_EQ(wishes(R"({"progressToken":7})")->progress_token, 7);
    for (const std::string& bad : {"null", "1.5", "true", "[]", "{}"}) {
        const auto found = wishes(R"({"progressToken":)" + bad + "}");
        ASSERT_FALSE(found) << bad;
        EXPECT_EQ(found.error().code, RpcCode::InvalidParams);
    }
}

TEST(NoticeWishes, ModernLevelStandsInTheRequest) {
    const std::string key(kLogLevelKey);
    EXPECT_EQ(wishes(R"({")" + key + R"(":"warning"})")->log_level, Severity::Warning);
    for (const std::string& bad : {"\"loud\"", "7", "null"}) {
        const auto found = wishes(R"({")" + key + R"(":)" + bad + "}");
        ASSERT_FALSE(found) << bad;
        EXPECT_EQ(found.error().code, RpcCode::InvalidParams);
    }
}

TEST(NoticeWishes, LegacyLevelIsTheConnections) {
    const ConnectionMemory memory{.log_level = Severity::Error};
    const std::string key(kLogLevelKey);
    const std::string meta = R"({")" + key + R"(":"debug"})";
    EXPECT_EQ(wishes(meta, Revision::V2025_06_18, &memory)->log_level, Severity::Error);
    EXPECT_FALSE(wishes(meta, Revision::V2025_06_18)->log_level);
    EXPECT_EQ(wishes(meta, kModernRevision, &memory)->log_level, Severity::Debug);
}

}  // namespace
}  // namespace belljar::mcp
