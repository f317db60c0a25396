#include "mcp/batch.h"

#include <gtest/gtest.h>

namespace belljar::mcp {
namespace {

const json::object kPing{{"jsonrpc", "2.0"}, {"id", 1}, {"method", "ping"}};

TEST(Batch, HasBounds) {
    EXPECT_TRUE(find_batch_fault({}));
    EXPECT_FALSE(find_batch_fault(json::array(64, kPing)));
    EXPECT_TRUE(find_batch_fault(json::array(65, kPing)));
}

TEST(Batch, HoldsNoModernRequest) {
    const Result<json::value> modern = parse_json(
        R"({"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})");
    json::array batch(2, kPing);
    EXPECT_FALSE(find_batch_fault(batch));
    batch.push_back(modern.value());
    ASSERT_TRUE(find_batch_fault(batch));
    EXPECT_EQ(find_batch_fault(batch)->code, RpcCode::InvalidRequest);
}

TEST(Batch, HoldsNoInitialize) {
    EXPECT_TRUE(find_batch_element_fault({.method = "initialize"}));
    EXPECT_FALSE(find_batch_element_fault({.method = "ping"}));
}

}  // namespace
}  // namespace belljar::mcp
