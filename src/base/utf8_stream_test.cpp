#include "base/utf8_stream.h"

#include <gtest/gtest.h>

#include <random>

#include "base/utf8.h"

namespace belljar {
namespace {

TEST(Utf8Stream, GivesWholeCharactersAtOnce) {
    Utf8Stream stream;
    EXPECT_EQ(stream.take("hello \xC3\xA4"), "hello \xC3\xA4");
    EXPECT_EQ(stream.finish(), "");
}

TEST(Utf8Stream, HoldsBackACharacterThatIsNotComplete) {
    Utf8Stream stream;
    EXPECT_EQ(stream.take("a\xF0"), "a");
    EXPECT_EQ(stream.take("\x9F"), "");
    EXPECT_EQ(stream.take("\x98"), "");
    EXPECT_EQ(stream.take("\x80z"), "\xF0\x9F\x98\x80z");
}

TEST(Utf8Stream, HoldsBackNothingThatCannotBecomeACharacter) {
    Utf8Stream stream;
    EXPECT_EQ(stream.take("a\xC0"), "a\xEF\xBF\xBD");
    EXPECT_EQ(stream.take("\xE0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");
    EXPECT_EQ(stream.take("\xED\xA0"), "\xEF\xBF\xBD\xEF\xBF\xBD");
    EXPECT_EQ(stream.take("\x80"), "\xEF\xBF\xBD");
}

TEST(Utf8Stream, ReplacesWhatIsLeftAtTheEnd) {
    Utf8Stream stream;
    EXPECT_EQ(stream.take("\xE2\x82"), "");
    EXPECT_EQ(stream.finish(), "\xEF\xBF\xBD\xEF\xBF\xBD");
    EXPECT_EQ(stream.finish(), "");
}

// However the bytes are cut, the text is that of the result.
TEST(Utf8Stream, PiecesMakeTheSameTextAsTheWhole) {
    constexpr unsigned kSeed = 20;
    std::mt19937 random(kSeed);
    const std::string alphabet(
        "az\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\xE0\xA0\x80\xED\xF4\x8F\xC0\xFF");
    for (int round = 0; round < 2000; ++round) {
        std::string bytes;
        for (int index = 0; index < 24; ++index) {
            bytes += alphabet[random() % alphabet.size()];
        }
        Utf8Stream stream;
        std::string text;
        for (std::size_t begin = 0; begin < bytes.size();) {
            const std::size_t count = 1 + random() % 4;
            const std::string piece = stream.take(std::string_view(bytes).substr(begin, count));
            EXPECT_TRUE(is_valid_utf8(piece));
            text += piece;
            begin += count;
        }
        text += stream.finish();
        EXPECT_EQ(text, make_valid_utf8(bytes)) << "seed " << kSeed << ", round " << round;
    }
}

}  // namespace
}  // namespace belljar
