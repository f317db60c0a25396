#include "mcp/modern_request.h"

#include <gtest/gtest.h>

#include "mcp/era.h"

namespace belljar::mcp {
namespace {

Message request(std::string_view method, std::string_view params) {
    return {.kind = Message::Kind::Request,
            .id = 1,
            .method = std::string(method),
            .params = parse_json(params).value().as_object()};
}

Message call(std::string_view name, std::string_view version = "2026-07-28") {
    Message message = request("tools/call", "{}");
    message.params["name"] = name;
    message.params["_meta"] = {{std::string(kProtocolVersionKey), version},
                               {std::string(kClientCapabilitiesKey), json::object{}}};
    return message;
}

MirrorHeaders headers(std::string_view name) {
    return {.version = "2026-07-28", .method = "tools/call", .name = std::string(name)};
}

std::optional<RpcCode> code_of(const std::optional<RpcError>& fault) {
    return fault ? std::optional(fault->code) : std::nullopt;
}

TEST(ModernRequest, NeedsTheEnvelope) {
    for (const std::string_view params :
         {R"({})", R"({"_meta":{}})", R"({"_meta":1})",
          R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}})",
          R"({"_meta":{"io.modelcontextprotocol/protocolVersion":1,
                       "io.modelcontextprotocol/clientCapabilities":{}}})",
          R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
                       "io.modelcontextprotocol/clientCapabilities":[]}})"}) {
        const auto fault = find_envelope_fault(request("tools/list", params));
        ASSERT_TRUE(fault) << params;
        EXPECT_EQ(fault->code, RpcCode::InvalidParams);
        EXPECT_NE(fault->message.find(kClientCapabilitiesKey), std::string::npos);
    }
    EXPECT_FALSE(find_envelope_fault(call("x")));
}

TEST(ModernRequest, ConflictPrecedesVersionPrecedesAbsence) {
    MirrorHeaders other = headers("x");
    other.version = "2025-11-25";
    EXPECT_EQ(code_of(find_modern_fault(call("x", "v999"), other)), RpcCode::HeaderMismatch);
    other.version = "v999";
    EXPECT_EQ(code_of(find_modern_fault(call("x", "v999"), other)), RpcCode::UnsupportedVersion);
    EXPECT_EQ(code_of(find_modern_fault(call("x", "v999"), {})), RpcCode::UnsupportedVersion);
    EXPECT_EQ(code_of(find_modern_fault(call("x"), {})), RpcCode::HeaderMismatch);
    EXPECT_EQ(code_of(find_modern_fault(call("x"), headers("x"))), std::nullopt);
}

TEST(ModernRequest, UnsupportedVersionSaysWhatIsServed) {
    const auto fault = find_version_fault(call("x", "2025-11-25"));
    ASSERT_TRUE(fault);
    EXPECT_EQ(to_text(fault->data), R"({"supported":["2026-07-28"],"requested":"2025-11-25"})");
}

TEST(ModernRequest, EachHeaderIsRequired) {
    MirrorHeaders incomplete = headers("x");
    incomplete.method = std::nullopt;
    EXPECT_EQ(code_of(find_header_fault(call("x"), incomplete)), RpcCode::HeaderMismatch);
    incomplete = headers("x");
    incomplete.name = std::nullopt;
    EXPECT_EQ(code_of(find_header_fault(call("x"), incomplete)), RpcCode::HeaderMismatch);
    incomplete = headers("x");
    incomplete.method = "Tools/call";
    EXPECT_EQ(code_of(find_header_conflict(call("x"), incomplete)), RpcCode::HeaderMismatch);
}

TEST(ModernRequest, NamesMayBeBase64) {
    EXPECT_FALSE(find_header_fault(call("é"), headers("=?base64?w6k=?=")));
    EXPECT_TRUE(find_header_fault(call("é"), headers("=?base64?w6k?=")));
    EXPECT_TRUE(find_header_fault(call("é"), headers("=?base64?/w==?=")));
    EXPECT_TRUE(find_header_fault(call("e"), headers("=?base64?w6k=?=")));
    EXPECT_FALSE(find_header_fault(call("=?base64?w6k="), headers("=?base64?w6k=")));
    EXPECT_FALSE(find_header_fault(call("=?base64?="), headers("=?base64?=")));
}

TEST(ModernRequest, NameWithoutCounterpartIsLeftToTheMethod) {
    Message message = call("x");
    message.params.erase("name");
    EXPECT_FALSE(find_header_fault(message, headers("x")));
}

}  // namespace
}  // namespace belljar::mcp
