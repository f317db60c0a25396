#include "base/bytes.h"

#include <gtest/gtest.h>

#include <array>

namespace belljar {
namespace {

struct Reading {
    std::string_view text;
    std::uint64_t count;
};

TEST(ParseBytes, ReadsEveryUnitAsAPowerOf1024) {
    constexpr std::array<Reading, 20> kReadings{{{"0", 0},
                                                 {"1", 1},
                                                 {"1048576", 1048576},
                                                 {"7b", 7},
                                                 {"7B", 7},
                                                 {"2k", 2048},
                                                 {"2K", 2048},
                                                 {"2kb", 2048},
                                                 {"2KiB", 2048},
                                                 {"256m", 268435456},
                                                 {"256M", 268435456},
                                                 {"256MB", 268435456},
                                                 {"256MiB", 268435456},
                                                 {"1g", 1073741824},
                                                 {"1Gb", 1073741824},
                                                 {"1GiB", 1073741824},
                                                 {"1t", 1099511627776},
                                                 {"1TiB", 1099511627776},
                                                 {"007", 7},
                                                 {"18446744073709551615", UINT64_MAX}}};
    for (const Reading& reading : kReadings) {
        const Result<Bytes> bytes = parse_bytes(reading.text);
        ASSERT_TRUE(bytes) << reading.text;
        EXPECT_EQ(bytes->count, reading.count) << reading.text;
    }
}

TEST(ParseBytes, RefusesWhatIsNotASize) {
    for (const std::string_view text : {"", "m", "-1", "+1", " 1", "1 ", "1 m", "1.5g", "1e3",
                                        "0x10", "1mm", "1p", "1kib2", "1,000", "ten"}) {
        const Result<Bytes> bytes = parse_bytes(text);
        ASSERT_FALSE(bytes) << text;
        EXPECT_EQ(bytes.error().code, ErrorCode::InvalidArgument) << text;
    }
    EXPECT_FALSE(parse_bytes(std::string_view("1\0", 2)));
    EXPECT_FALSE(parse_bytes(std::string_view("1m\0", 3)));
}

TEST(ParseBytes, RefusesWhatCannotBeCounted) {
    EXPECT_TRUE(parse_bytes("16777215t"));
    for (const std::string_view text : {"16777216t", "17179869184g", "18014398509481984k",
                                        "18446744073709551616", "99999999999999999999999"}) {
        EXPECT_FALSE(parse_bytes(text)) << text;
    }
}

TEST(FormatBytes, GivesTheShortestExactForm) {
    EXPECT_EQ(format_bytes(Bytes{0}), "0");
    EXPECT_EQ(format_bytes(Bytes{1000}), "1000");
    EXPECT_EQ(format_bytes(Bytes{1023}), "1023");
    EXPECT_EQ(format_bytes(Bytes{1024}), "1k");
    EXPECT_EQ(format_bytes(Bytes{1025}), "1025");
    EXPECT_EQ(format_bytes(kibibytes(1536)), "1536k");
    EXPECT_EQ(format_bytes(mebibytes(256)), "256m");
    EXPECT_EQ(format_bytes(gibibytes(1)), "1g");
    EXPECT_EQ(format_bytes(gibibytes(1024)), "1t");
}

TEST(FormatBytes, IsReadBackAsTheSameNumber) {
    for (const std::uint64_t count :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1536}, std::uint64_t{1} << 20U,
          (std::uint64_t{1} << 40U) + 1024, std::uint64_t{1} << 63U, UINT64_MAX}) {
        EXPECT_EQ(parse_bytes(format_bytes(Bytes{count})).value().count, count);
    }
}

TEST(Bytes, ComparesByCount) {
    EXPECT_LT(kibibytes(1023), mebibytes(1));
    EXPECT_EQ(kibibytes(1024), mebibytes(1));
    EXPECT_GT(gibibytes(1), mebibytes(1023));
}

}  // namespace
}  // namespace belljar
