#include "config/duration.h"

#include <gtest/gtest.h>

namespace belljar::config {
namespace {

using namespace std::chrono_literals;

TEST(ConfigDuration, ReadsSecondsAndUnits) {
    EXPECT_EQ(parse_duration("30").value(), 30s);
    EXPECT_EQ(parse_duration("0").value(), 0s);
    EXPECT_EQ(parse_duration("0.5").value(), 500ms);
    EXPECT_EQ(parse_duration("1.5s").value(), 1500ms);
    EXPECT_EQ(parse_duration("500ms").value(), 500ms);
    EXPECT_EQ(parse_duration("2m").value(), 2min);
    EXPECT_EQ(parse_duration("1h").value(), 1h);
    EXPECT_EQ(parse_duration("0.1").value(), 100ms);
}

TEST(ConfigDuration, RefusesWhatIsNoDuration) {
    for (const std::string_view text : {"", "s", "-1", "+1", "nan", "inf", "1e400", "1e30", "1 s",
                                        "1d", "1ss", ".5", "1,5", "0x10", "9999999999h"}) {
        EXPECT_FALSE(parse_duration(text).has_value()) << text;
    }
    EXPECT_FALSE(parse_duration(std::string_view("1\0s", 3)).has_value());
}

TEST(ConfigDuration, FormatsWhatItReads) {
    for (const std::string_view text : {"30s", "5m", "1h", "1500ms", "0.0015s", "0s"}) {
        EXPECT_EQ(format_duration(parse_duration(text).value()), text);
    }
}

}  // namespace
}  // namespace belljar::config
