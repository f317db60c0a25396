#include "mcp/param_headers.h"

#include <gtest/gtest.h>

namespace belljar::mcp {
namespace {

std::vector<ParamHeader> marked() {
    return find_param_headers(parse_json(R"({
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object",
                "properties": {"count": {"type": "integer", "x-mcp-header": "Count"}}},
            "dry": {"type": "boolean", "x-mcp-header": "Dry"},
            "list": {"type": "array",
                "items": {"properties": {"lost": {"type": "string", "x-mcp-header": "Lost"}}}}}})")
                                  .value()
                                  .as_object());
}

int fault(std::string_view arguments, access::Headers headers) {
    const std::optional<RpcError> found = find_param_fault(
        marked(), parse_json(arguments).value().as_object(), {.headers = std::move(headers)});
    return found ? static_cast<int>(found->code) : 0;
}

TEST(ParamHeaders, AreFoundThroughPropertiesOnly) {
    const std::vector<ParamHeader> found = marked();
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].header, "Mcp-Param-Region");
    EXPECT_EQ(found[1].path, (std::vector<std::string>{"deep", "count"}));
}

TEST(ParamHeaders, MustSayWhatTheArgumentSays) {
    EXPECT_EQ(fault("{}", {}), 0);
    EXPECT_EQ(fault(R"({"region":null})", {}), 0);
    EXPECT_EQ(fault(R"({"region":"eu"})", {{"mcp-param-region", "eu"}}), 0);
    EXPECT_EQ(fault(R"({"region":"eu"})", {}), -32020);
    EXPECT_EQ(fault("{}", {{"Mcp-Param-Region", "eu"}}), -32020);
    EXPECT_EQ(fault(R"({"region":"eu"})", {{"Mcp-Param-Region", "EU"}}), -32020);
    EXPECT_EQ(fault(R"({"deep":{"count":7}})", {{"Mcp-Param-Count", "7"}}), 0);
    EXPECT_EQ(fault(R"({"deep":{"count":7}})", {{"Mcp-Param-Count", "007"}}), 0);
    EXPECT_EQ(fault(R"({"deep":{"count":7}})", {{"Mcp-Param-Count", "7x"}}), -32020);
    EXPECT_EQ(fault(R"({"dry":true})", {{"Mcp-Param-Dry", "true"}}), 0);
    EXPECT_EQ(fault(R"({"dry":true})", {{"Mcp-Param-Dry", "1"}}), -32020);
    EXPECT_EQ(fault("{}", {{"Mcp-Param-Unknown", "x"}}), 0);
}

TEST(ParamHeaders, TwoDifferentValuesAreRefused) {
    EXPECT_EQ(fault(R"({"region":"eu"})", {{"Mcp-Param-Region", "eu"}, {"Mcp-Param-Region", "us"}}),
              -32020);
}

TEST(ParamHeaders, ValuesMayBeEncoded) {
    EXPECT_EQ(decode_header_value("=?base64?SGVsbG8=?="), "Hello");
    EXPECT_EQ(decode_header_value("=?base64?"
                                  "?="),
              "");
    EXPECT_EQ(decode_header_value("=?base64?SGVsbG8?="), std::nullopt);
    EXPECT_EQ(decode_header_value("=?base64?SGVs!!!bG8=?="), std::nullopt);
    EXPECT_EQ(decode_header_value("=?base64?/w==?="), std::nullopt);  // no UTF-8
    EXPECT_EQ(decode_header_value("SGVsbG8=?="), "SGVsbG8=?=");
    EXPECT_EQ(decode_header_value("=?base64?SGVsbG8="), "=?base64?SGVsbG8=");
}

}  // namespace
}  // namespace belljar::mcp
