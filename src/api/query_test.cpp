#include "api/query.h"

#include <gtest/gtest.h>

namespace belljar::api {
namespace {

Result<Query> parse(std::string_view query) {
    return Query::parse(query, {"limit", "since", "language"});
}

std::string refusal(std::string_view query) {
    const Result<Query> parsed = parse(query);
    return parsed ? "" : parsed.error().message;
}

TEST(Query, GivesWhatWasAsked) {
    const Query query = parse("limit=7&language=c%2B%2B&since=2026-01-31").value();
    EXPECT_EQ(query.number("limit", {1, 10}).value(), 7U);
    EXPECT_EQ(query.text("language"), "c++");
    EXPECT_TRUE(query.time("since").value());
    EXPECT_FALSE(parse("").value().text("limit"));
    EXPECT_FALSE(parse("").value().number("limit", {1, 10}).value());
    EXPECT_FALSE(parse("").value().time("since").value());
}

TEST(Query, RefusesWhatItDoesNotKnow) {
    EXPECT_TRUE(refusal("lmit=7").starts_with("unknown parameter \"lmit\""));
    EXPECT_EQ(refusal("limit=7&limit=8"), "\"limit\" is given twice");
    EXPECT_EQ(refusal("language=%ff"), "\"language\" must be text");
    EXPECT_EQ(refusal("language=a%00b"), "\"language\" must be text");
    EXPECT_FALSE(refusal("language=%zz").empty());
}

TEST(Query, NumbersAndTimesAreWhole) {
    for (const char* number : {"0", "11", "-1", "+1", "1.5", "", "1x", "99999999999999999999"}) {
        const Query query = parse("limit=" + std::string(number)).value();
        EXPECT_FALSE(query.number("limit", {1, 10})) << number;
    }
    EXPECT_FALSE(parse("since=yesterday").value().time("since"));
}

}  // namespace
}  // namespace belljar::api
