#include "api/byte_range.h"

#include <gtest/gtest.h>

namespace belljar::api {
namespace {

void expect_part(std::string_view header, ByteRange range) {
    const RangeChoice choice = choose_range(header, 100);
    EXPECT_EQ(choice.kind, RangeKind::Part) << header;
    EXPECT_EQ(choice.range, range) << header;
}

TEST(ByteRange, APartIsChosen) {
    expect_part("bytes=0-0", {.offset = 0, .length = 1});
    expect_part("bytes=0-99", {.offset = 0, .length = 100});
    expect_part("bytes=10-19", {.offset = 10, .length = 10});
    expect_part("BYTES=99-", {.offset = 99, .length = 1});
    expect_part("bytes=5-", {.offset = 5, .length = 95});
    expect_part("bytes=90-200", {.offset = 90, .length = 10});
    expect_part("bytes=-1", {.offset = 99, .length = 1});
    expect_part("bytes=-100", {.offset = 0, .length = 100});
    expect_part("bytes=-5000", {.offset = 0, .length = 100});
    expect_part("bytes=1-18446744073709551615", {.offset = 1, .length = 99});
    expect_part("bytes=1-99999999999999999999999999", {.offset = 1, .length = 99});
}

TEST(ByteRange, BeyondTheEndThereIsNothing) {
    for (const std::string_view header :
         {"bytes=100-", "bytes=100-200", "bytes=-0", "bytes=18446744073709551615-",
          "bytes=99999999999999999999999999-"}) {
        EXPECT_EQ(choose_range(header, 100).kind, RangeKind::Unsatisfiable) << header;
    }
    EXPECT_EQ(choose_range("bytes=0-", 0).kind, RangeKind::Unsatisfiable);
    EXPECT_EQ(choose_range("bytes=-1", 0).kind, RangeKind::Unsatisfiable);
}

TEST(ByteRange, WhatIsNotUnderstoodIsTheWhole) {
    for (const std::string_view header :
         {"",           "bytes",      "bytes=",     "bytes=-",    "bytes=5",
          "bytes=a-b",  "bytes=1-b",  "bytes=a-1",  "bytes=9-1",  "bytes=1-2,4-5",
          "bytes= 1-2", "bytes=1 -2", "bytes=1-2 ", "bytes=+1-2", "bytes=1--2",
          "bytes=--1",  "bytes=0x1-", "items=1-2",  "bytes:1-2",  "=1-2"}) {
        EXPECT_EQ(choose_range(header, 100).kind, RangeKind::Whole) << header;
    }
}

}  // namespace
}  // namespace belljar::api
