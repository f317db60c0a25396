#include "base/percent.h"

#include <gtest/gtest.h>

namespace belljar {
namespace {

TEST(PercentTest, EncodesAllButPlainLetters) {
    EXPECT_EQ(percent_encoded("a-b_c.d~e"), "a-b_c.d~e");
    EXPECT_EQ(percent_encoded("a b/\xc3\xa4%"), "a%20b%2F%C3%A4%25");
    EXPECT_EQ(percent_encoded("a/b", "/"), "a/b");
}

TEST(PercentTest, DecodesOnce) {
    EXPECT_EQ(percent_decoded("a%20b%2f"), "a b/");
    EXPECT_EQ(percent_decoded("%252e"), "%2e");
    EXPECT_EQ(percent_decoded("+"), "+");
    EXPECT_EQ(percent_decoded("%00"), std::string(1, '\0'));
}

TEST(PercentTest, RefusesWhatIsNoCode) {
    for (const char* text : {"%", "%2", "%zz", "a%", "%%41"}) {
        EXPECT_FALSE(percent_decoded(text)) << text;
    }
}

TEST(PercentTest, ReadsAQuery) {
    const QueryValues expected{{"a", "1 2"}, {"b", "x=y"}, {"c", ""}, {"", "d"}};
    EXPECT_EQ(parse_query("a=1+2&b=x%3Dy&&c&=d"), expected);
    EXPECT_EQ(parse_query(""), QueryValues{});
    EXPECT_FALSE(parse_query("a=%zz"));
    EXPECT_FALSE(parse_query("%=1"));
}

}  // namespace
}  // namespace belljar
