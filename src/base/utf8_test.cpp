#include "base/utf8.h"

#include <gtest/gtest.h>

#include <array>

namespace belljar {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Character {
    std::string_view bytes;
    std::size_t length;
};

// The first and the last character of every row of Unicode's table 3-7.
constexpr std::array<Character, 16> kBoundaries{{{std::string_view("\0", 1), 1},
                                                 {"\x7F", 1},
                                                 {"\xC2\x80", 2},
                                                 {"\xDF\xBF", 2},
                                                 {"\xE0\xA0\x80", 3},
                                                 {"\xE0\xBF\xBF", 3},
                                                 {"\xE1\x80\x80", 3},
                                                 {"\xEC\xBF\xBF", 3},
                                                 {"\xED\x80\x80", 3},
                                                 {"\xED\x9F\xBF", 3},
                                                 {"\xEE\x80\x80", 3},
                                                 {"\xEF\xBF\xBF", 3},
                                                 {"\xF0\x90\x80\x80", 4},
                                                 {"\xF1\x80\x80\x80", 4},
                                                 {"\xF3\xBF\xBF\xBF", 4},
                                                 {"\xF4\x8F\xBF\xBF", 4}}};

// One step beyond each row, and everything that only looks like a character.
constexpr std::array<std::string_view, 29> kInvalid{
    "\x80",              // continuation bytes alone
    "\xBF",              //
    "\xC0\x80",          // overlong NUL
    "\xC1\xBF",          // overlong
    "\xC2",              // cut
    "\xC2\x7F",          // second byte too low
    "\xC2\xC0",          // second byte too high
    "\xDF\xC0",          //
    "\xE0\x80\x80",      // overlong
    "\xE0\x9F\xBF",      // overlong, last
    "\xE0\xA0",          // cut
    "\xE0\xA0\x7F",      //
    "\xE0\xA0\xC0",      //
    "\xE2\x82",          // cut
    "\xED\xA0\x80",      // first surrogate
    "\xED\xBF\xBF",      // last surrogate
    "\xEF\xBF",          // cut
    "\xF0\x80\x80\x80",  // overlong
    "\xF0\x8F\xBF\xBF",  // overlong, last
    "\xF0\x90\x80",      // cut
    "\xF0\x90\x80\x7F",  //
    "\xF0\x90\x7F\x80",  //
    "\xF1\x80\x80\xC0",  //
    "\xF4\x90\x80\x80",  // beyond U+10FFFF
    "\xF5\x80\x80\x80",  // no such first byte
    "\xF8\x88\x80\x80\x80",
    "\xFC\x84\x80\x80\x80\x80",
    "\xFE",
    "\xFF",
};

TEST(Utf8CharacterLength, KnowsEveryBoundary) {
    for (const Character& character : kBoundaries) {
        EXPECT_EQ(utf8_character_length(character.bytes), character.length);
        EXPECT_EQ(utf8_character_length(std::string(character.bytes) + "x"), character.length);
        EXPECT_TRUE(is_valid_utf8(character.bytes));
    }
}

TEST(Utf8CharacterLength, IsNothingForAnInvalidFront) {
    EXPECT_EQ(utf8_character_length(""), 0U);
    for (const std::string_view bytes : kInvalid) {
        EXPECT_EQ(utf8_character_length(bytes), 0U) << testing::PrintToString(bytes);
        EXPECT_FALSE(is_valid_utf8(bytes)) << testing::PrintToString(bytes);
    }
}

TEST(IsValidUtf8, LooksAtTheWholeText) {
    EXPECT_TRUE(is_valid_utf8(""));
    EXPECT_TRUE(is_valid_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x94\x94z"));
    for (const std::string_view bytes : kInvalid) {
        EXPECT_FALSE(is_valid_utf8("ok" + std::string(bytes)));
        EXPECT_FALSE(is_valid_utf8(std::string(bytes) + "ok"));
    }
}

TEST(MakeValidUtf8, LeavesValidTextUnchanged) {
    for (const Character& character : kBoundaries) {
        EXPECT_EQ(make_valid_utf8(character.bytes), character.bytes);
    }
    EXPECT_EQ(make_valid_utf8(""), "");
}

TEST(MakeValidUtf8, ReplacesEachByteThatIsNotPartOfACharacter) {
    const std::string mark(kReplacement);
    EXPECT_EQ(make_valid_utf8("\xFF"), mark);
    EXPECT_EQ(make_valid_utf8("a\xFFz"), "a" + mark + "z");
    EXPECT_EQ(make_valid_utf8("\xE2\x82"), mark + mark);
    EXPECT_EQ(make_valid_utf8("\xC3\xC3\xA9"), mark + "\xC3\xA9");
    EXPECT_EQ(make_valid_utf8("\xED\xA0\x80"), mark + mark + mark);
}

TEST(MakeValidUtf8, AlwaysGivesValidText) {
    for (const std::string_view bytes : kInvalid) {
        EXPECT_TRUE(is_valid_utf8(make_valid_utf8(bytes)));
        EXPECT_TRUE(is_valid_utf8(make_valid_utf8("\xC3\xA9" + std::string(bytes) + "\xC3")));
    }
    for (unsigned first = 0; first < 256; ++first) {
        for (unsigned second = 0; second < 256; ++second) {
            const std::string pair{static_cast<char>(first), static_cast<char>(second)};
            EXPECT_TRUE(is_valid_utf8(make_valid_utf8(pair))) << first << " " << second;
        }
    }
}

TEST(Utf8Beginning, EndsBetweenCharacters) {
    EXPECT_EQ(utf8_beginning("abc", 3), "abc");
    EXPECT_EQ(utf8_beginning("abc", 2), "ab");
    EXPECT_EQ(utf8_beginning("a\xE2\x82\xAC", 3), "a");
    EXPECT_EQ(utf8_beginning("a\xE2\x82\xAC", 4), "a\xE2\x82\xAC");
    EXPECT_EQ(utf8_beginning("\xF0\x9F\x98\x80", 2), "");
    EXPECT_EQ(utf8_beginning("abc", 0), "");
}

}  // namespace
}  // namespace belljar
