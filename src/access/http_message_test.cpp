#include "access/http_message.h"

#include <gtest/gtest.h>

namespace belljar::access {
namespace {

TEST(HttpHeader, IsFoundWithoutRegardToCase) {
    const HttpRequest request{.headers = {{"Content-Type", "application/json"}}};
    for (const std::string_view name : {"Content-Type", "content-type", "CONTENT-TYPE"}) {
        EXPECT_EQ(request.header(name), "application/json");
    }
    EXPECT_FALSE(request.header("Content"));
    EXPECT_FALSE(request.header("Content-Type "));
    EXPECT_FALSE(request.header(""));
}

TEST(HttpHeader, ComesWithoutSurroundingWhiteSpace) {
    const HttpRequest request{.headers = {{"A", " \t x y \t"}, {"B", "  "}, {"C", ""}}};
    EXPECT_EQ(request.header("a"), "x y");
    EXPECT_EQ(request.header("b"), "");
    EXPECT_EQ(request.header("c"), "");
}

TEST(HttpHeader, GivenTwiceCountsOnlyIfBothAgree) {
    const HttpRequest request{.headers = {{"Same", "x"},
                                          {"same", " x "},
                                          {"Other", "x"},
                                          {"OTHER", "y"},
                                          {"Empty", ""},
                                          {"Empty", "z"}}};
    EXPECT_EQ(request.header("Same"), "x");
    EXPECT_FALSE(request.header("Other"));
    EXPECT_FALSE(request.header("Empty"));
}

TEST(HttpHeader, OnlyAsciiLettersLoseTheirCase) {
    const LessIgnoringCase less;
    EXPECT_FALSE(less("abc", "ABC"));
    EXPECT_FALSE(less("ABC", "abc"));
    EXPECT_TRUE(less("[", "{") || less("{", "["));
    EXPECT_TRUE(less("a", "ab"));
    EXPECT_TRUE(less("", "a"));
}

}  // namespace
}  // namespace belljar::access
