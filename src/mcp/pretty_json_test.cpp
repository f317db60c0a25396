#include "mcp/pretty_json.h"

#include <gtest/gtest.h>

namespace belljar::mcp {
namespace {

TEST(PrettyJson, HasALineForEachMember) {
    const json::value value = parse_json(R"({"a":[1,{"b":"x\n"}],"c":{},"d":[],"e":null})").value();
    EXPECT_EQ(pretty(value), R"({
  "a": [
    1,
    {
      "b": "x\n"
    }
  ],
  "c": {},
  "d": [],
  "e": null
})");
    EXPECT_EQ(parse_json(pretty(value)).value(), value);
    EXPECT_EQ(pretty(json::value(5)), "5");
    EXPECT_EQ(pretty(json::value(0.25)), "0.25");
}

}  // namespace
}  // namespace belljar::mcp
