#include "access/trace_context.h"

#include <gtest/gtest.h>

namespace belljar::access {
namespace {

const std::string kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string kParent = "00f067aa0ba902b7";
const std::string kValid = "00-" + kTrace + "-" + kParent + "-01";

TEST(TraceContext, TakesAValidParentAndMakesASpanOfItsOwn) {
    const auto trace = parse_trace(kValid, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->trace_id, kTrace);
    EXPECT_EQ(trace->parent_id, kParent);
    EXPECT_EQ(trace->state, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
    EXPECT_EQ(trace->span_id.size(), 16U);
    EXPECT_NE(trace->span_id, kParent);
    EXPECT_EQ(trace->as_parent(), "00-" + kTrace + "-" + trace->span_id + "-01");
    EXPECT_NE(parse_trace(kValid, "")->span_id, trace->span_id);
}

TEST(TraceContext, TakesWhatALaterVersionAdds) {
    EXPECT_TRUE(parse_trace("cc" + kValid.substr(2) + "-what-comes", ""));
    EXPECT_FALSE(parse_trace("cc" + kValid.substr(2) + "what-comes", ""));
}

TEST(TraceContext, IgnoresWhatIsNotValid) {
    const std::string zero_trace = "00-" + std::string(32, '0') + "-" + kParent + "-01";
    const std::string zero_parent = "00-" + kTrace + "-" + std::string(16, '0') + "-01";
    std::string capitals = kValid;
    capitals[5] = 'F';
    for (const std::string& text :
         {std::string(), std::string("00"), kValid + "-", kValid + "x", "ff" + kValid.substr(2),
          "0g" + kValid.substr(2), zero_trace, zero_parent, capitals, kValid.substr(0, 54),
          "00_" + kValid.substr(3), kValid.substr(0, 53) + "0\n"}) {
        EXPECT_FALSE(parse_trace(text, "")) << text;
    }
}

TEST(TraceContext, DropsAStateThatIsNotValid) {
    std::string many;
    for (int index = 0; index < 40; ++index) {
        many += (index == 0 ? "" : ",") + std::string("a") + std::to_string(index) + "=b";
    }
    for (const std::string& state : {std::string("novalue"), std::string("=x"), std::string("A=x"),
                                     std::string("a=b\r\nSet-Cookie: x"), std::string("a=b=c"),
                                     "a=" + std::string(600, 'b'), many}) {
        const auto trace = parse_trace(kValid, state);
        ASSERT_TRUE(trace);
        EXPECT_EQ(trace->state, "") << state;
    }
    EXPECT_EQ(parse_trace(kValid, "a=b, ,c@d=e f")->state, "a=b, ,c@d=e f");
}

}  // namespace
}  // namespace belljar::access
