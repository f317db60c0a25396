#include "base/clock.h"

#include <gtest/gtest.h>

#include <ctime>
#include <regex>

namespace belljar {
namespace {

TEST(UtcTimestamp, IsRfc3339WithMilliseconds) {
    const std::regex form(R"(\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d\.\d{3}Z)");
    EXPECT_TRUE(std::regex_match(utc_timestamp(), form)) << utc_timestamp();
}

TEST(UtcTimestamp, IsNow) {
    const std::time_t before = std::time(nullptr);
    const std::string text = utc_timestamp();
    const std::time_t after = std::time(nullptr);
    std::tm parsed{};
    ASSERT_NE(::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parsed), nullptr);
    const std::time_t shown = ::timegm(&parsed);
    EXPECT_GE(shown, before - 1);  // time() may lag behind the fine clock
    EXPECT_LE(shown, after + 1);
}

TEST(ToSeconds, KeepsFractions) {
    EXPECT_EQ(to_seconds(std::chrono::milliseconds(1500)), 1.5);
    EXPECT_EQ(to_seconds(Duration{}), 0.0);
    EXPECT_EQ(to_seconds(std::chrono::seconds(-2)), -2.0);
}

}  // namespace
}  // namespace belljar
