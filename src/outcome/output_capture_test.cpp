#include "outcome/output_capture.h"

#include <gtest/gtest.h>

#include <random>

#include "base/utf8.h"

namespace belljar::outcome {
namespace {

std::string omission(std::uint64_t bytes) {
    return "\n[... " + std::to_string(bytes) + " bytes omitted ...]\n";
}

execution::CapturedStream captured(Bytes limit, std::initializer_list<std::string_view> parts) {
    OutputCapture capture(limit);
    for (const std::string_view part : parts) {
        capture.append(part);
    }
    return capture.finish();
}

TEST(OutputCapture, KeepsAShortStreamWhole) {
    const auto stream = captured(Bytes{10}, {"ab", "", "cde"});
    EXPECT_EQ(stream.text, "abcde");
    EXPECT_FALSE(stream.truncated);
    EXPECT_EQ(stream.bytes, 5U);
}

TEST(OutputCapture, AnEmptyStreamIsEmpty) {
    const auto stream = captured(Bytes{10}, {});
    EXPECT_EQ(stream.text, "");
    EXPECT_FALSE(stream.truncated);
    EXPECT_EQ(stream.bytes, 0U);
}

TEST(OutputCapture, KeepsAStreamOfExactlyTheLimitWhole) {
    EXPECT_EQ(captured(Bytes{10}, {"0123456789"}).text, "0123456789");
    EXPECT_FALSE(captured(Bytes{10}, {"0123456789"}).truncated);
    EXPECT_EQ(captured(Bytes{10}, {"01234", "56789"}).text, "0123456789");
    EXPECT_EQ(captured(Bytes{11}, {"0123456789a"}).text, "0123456789a");
    EXPECT_FALSE(captured(Bytes{11}, {"0", "123456789a"}).truncated);
}

TEST(OutputCapture, OneByteMoreIsTruncated) {
    for (const auto& parts : {std::vector<std::string_view>{"0123456789a"},
                              std::vector<std::string_view>{"0123456789", "a"},
                              std::vector<std::string_view>{"0", "123456789a"}}) {
        OutputCapture capture(Bytes{10});
        for (const std::string_view part : parts) {
            capture.append(part);
        }
        EXPECT_EQ(capture.finish().text, "01234" + omission(1) + "6789a");
        EXPECT_TRUE(capture.finish().truncated);
        EXPECT_EQ(capture.finish().bytes, 11U);
    }
}

TEST(OutputCapture, KeepsHeadAndTailOfALongStream) {
    const std::string middle(1'000'000, '.');
    const auto stream = captured(Bytes{8}, {"head", middle, "tail"});
    EXPECT_EQ(stream.text, "head" + omission(1'000'000) + "tail");
    EXPECT_TRUE(stream.truncated);
    EXPECT_EQ(stream.bytes, 1'000'008U);
}

TEST(OutputCapture, AnOddLimitGivesTheTailOneByteMore) {
    EXPECT_EQ(captured(Bytes{5}, {"0123456789"}).text, "01" + omission(5) + "789");
}

TEST(OutputCapture, TheRingWrapsAround) {
    OutputCapture capture(Bytes{8});
    capture.append("HEAD");
    for (char letter = 'a'; letter <= 'z'; ++letter) {
        capture.append(std::string(1, letter));
        const std::string tail = capture.finish().text;
        EXPECT_EQ(tail.back(), letter);
    }
    EXPECT_EQ(capture.finish().text, "HEAD" + omission(22) + "wxyz");
    capture.append("12");
    EXPECT_EQ(capture.finish().text, "HEAD" + omission(24) + "yz12");
    capture.append("3456");
    EXPECT_EQ(capture.finish().text, "HEAD" + omission(28) + "3456");
    capture.append("7");
    EXPECT_EQ(capture.finish().text, "HEAD" + omission(29) + "4567");
}

TEST(OutputCapture, AgreesWithTheWholeStreamHoweverItIsCut) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 300; ++round) {
        const std::size_t limit = random() % 40;
        OutputCapture capture(Bytes{limit});
        std::string whole;
        for (std::size_t part = random() % 12; part > 0; --part) {
            std::string data(random() % 30, ' ');
            for (char& letter : data) {
                letter = static_cast<char>('a' + random() % 26);
            }
            whole += data;
            capture.append(data);
        }
        const std::size_t head = limit / 2;
        const std::size_t tail = limit - head;
        const std::string expected = whole.size() <= limit
                                         ? whole
                                         : whole.substr(0, head) + omission(whole.size() - limit) +
                                               whole.substr(whole.size() - tail);
        EXPECT_EQ(capture.finish().text, expected) << "limit " << limit;
        EXPECT_EQ(capture.bytes(), whole.size());
    }
}

TEST(OutputCapture, TinyLimitsKeepWhatTheyCan) {
    EXPECT_EQ(captured(Bytes{0}, {"abc"}).text, omission(3));
    EXPECT_EQ(captured(Bytes{0}, {}).text, "");
    EXPECT_EQ(captured(Bytes{0}, {"", ""}).text, "");
    EXPECT_EQ(captured(Bytes{1}, {"a", "b", "c"}).text, omission(2) + "c");
    EXPECT_EQ(captured(Bytes{2}, {"abc", "d"}).text, "a" + omission(2) + "d");
}

TEST(OutputCapture, CutsBetweenCharacters) {
    // Two, three and four bytes each; every limit cuts some of them in two.
    for (const std::string_view letter : {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x94\x94"}) {
        std::string text;
        for (int count = 0; count < 50; ++count) {
            text += letter;
        }
        for (std::uint64_t limit = 1; limit < text.size(); ++limit) {
            const auto stream = captured(Bytes{limit}, {text});
            EXPECT_TRUE(is_valid_utf8(stream.text)) << letter << " limit " << limit;
            EXPECT_TRUE(stream.truncated);
            EXPECT_EQ(stream.bytes, text.size());
        }
    }
}

TEST(OutputCapture, CountsTheBytesOfACutCharacterAsOmitted) {
    const auto stream = captured(Bytes{6}, {"ab\xE2\x82\xAC......\xE2\x82\xAC\x7A"});
    EXPECT_EQ(stream.text, "ab" + omission(12) + "z");
    const auto whole = captured(Bytes{10}, {"ab\xE2\x82\xAC......\xE2\x82\xAC\x7A"});
    EXPECT_EQ(whole.text, "ab\xE2\x82\xAC" + omission(5) + ".\xE2\x82\xAC\x7A");
}

TEST(OutputCapture, BytesThatAreNoTextAreKeptAsTheyAre) {
    const std::string binary("\x80\x81\xFE\xFF\x00\xC0", 6);
    EXPECT_EQ(captured(Bytes{10}, {binary}).text, binary);
    // A run of continuation bytes is not a cut character; only a bounded part of it may go.
    const auto stream = captured(Bytes{20}, {std::string(100, '\x80')});
    EXPECT_TRUE(stream.text.starts_with(std::string(10, '\x80'))) << stream.text.size();
    EXPECT_TRUE(stream.text.ends_with(std::string(7, '\x80')));
}

TEST(OutputCapture, GivesTheWholeStreamUpToItsLimit) {
    for (const std::size_t part : {1U, 2U, 3U, 4U, 7U, 11U}) {
        OutputCapture capture(Bytes{11});
        std::string written;
        while (capture.is_whole_with(part)) {
            EXPECT_TRUE(capture.is_whole_with(0));
            const std::string data(part, static_cast<char>('a' + written.size()));
            capture.append(data);
            written += data;
            const auto [begin, end] = capture.whole();
            EXPECT_EQ(std::string(begin) + std::string(end), written);
        }
        EXPECT_GT(written.size() + part, 11U);
        capture.append(std::string(part, 'z'));
        EXPECT_FALSE(capture.is_whole_with(0));
    }
    EXPECT_TRUE(OutputCapture(Bytes{0}).is_whole_with(0));
    EXPECT_FALSE(OutputCapture(Bytes{0}).is_whole_with(1));
}

TEST(OutputCapture, HoldsNoMoreThanItsLimit) {
    OutputCapture capture(kibibytes(4));
    for (int round = 0; round < 1000; ++round) {
        capture.append(std::string(100'000, 'x'));
    }
    EXPECT_EQ(capture.bytes(), 100'000'000U);
    EXPECT_LT(capture.finish().text.size(), 4096U + 100);
}

}  // namespace
}  // namespace belljar::outcome
