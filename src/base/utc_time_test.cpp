#include "base/utc_time.h"

#include <gtest/gtest.h>

namespace belljar {
namespace {

std::string again(std::string_view text) {
    const auto time = parse_utc(text);
    return time ? format_utc(*time) : "";
}

TEST(UtcTime, IsReadAndWritten) {
    EXPECT_EQ(again("2026-07-28T09:15:04.123Z"), "2026-07-28T09:15:04.123Z");
    EXPECT_EQ(again("2026-07-28t09:15:04z"), "2026-07-28T09:15:04.000Z");
    EXPECT_EQ(again("2026-07-28 09:15:04.5+02:00"), "2026-07-28T07:15:04.500Z");
    EXPECT_EQ(again("2026-07-28T23:15:04.987654321-01:30"), "2026-07-29T00:45:04.987Z");
    EXPECT_EQ(again("2024-02-29"), "2024-02-29T00:00:00.000Z");
    EXPECT_EQ(parse_utc("9999-12-31"), std::chrono::system_clock::time_point::max());
    EXPECT_EQ(parse_utc("2263-01-01T00:00:00Z"), std::chrono::system_clock::time_point::max());
}

TEST(UtcTime, WhatIsNoTimeIsNone) {
    for (const char* text :
         {"", "2026", "2026-7-28", "2026-02-30", "2026-13-01", "1969-12-31", "-026-01-01",
          "2026-07-28T", "2026-07-28T09:15:04", "2026-07-28T24:00:00Z", "2026-07-28T09:60:00Z",
          "2026-07-28T09:15:61Z", "2026-07-28T09:15:04.Z", "2026-07-28T09:15:04Zx",
          "2026-07-28T09:15:04+2:00", "2026-07-28T09:15:04.1234567890Z", "now", "+026-01-01"}) {
        EXPECT_EQ(again(text), "") << text;
    }
}

}  // namespace
}  // namespace belljar
