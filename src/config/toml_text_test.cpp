#include "config/toml_text.h"

#include <gtest/gtest.h>

namespace belljar::config {
namespace {

std::string refusal(std::string_view text) {
    const Result<std::string> prepared = prepare_toml(text, "f");
    return prepared ? "" : prepared.error().message;
}

TEST(ConfigTomlText, KeepsOrdinaryText) {
    const std::string text = "[a]\nb = \"c # \\\" d\"\ne = 'f # \\'\n\n";
    EXPECT_EQ(prepare_toml(text, "f").value(), text);
    EXPECT_EQ(prepare_toml("", "f").value(), "");
}

TEST(ConfigTomlText, DropsCommentsAndKeepsLines) {
    EXPECT_EQ(prepare_toml("# \"\"\" \xff\r\na = 1 # b\nc = 2", "f").value(), "\na = 1 \nc = 2\n");
}

TEST(ConfigTomlText, EscapesWhatIsNotAscii) {
    EXPECT_EQ(prepare_toml("\xef\xbb\xbf\"\u00e9\u20ac\U0001F600\" = 1", "f").value(),
              "\"\\U000000E9\\U000020AC\\U0001F600\" = 1\n");
}

TEST(ConfigTomlText, RefusesWhatItCannotCopy) {
    EXPECT_EQ(refusal("\na\u025a = 1"),
              "f:2: a character outside of ASCII must stand in double quotes");
    EXPECT_EQ(refusal("a = '\u025a'"),
              "f:1: a character outside of ASCII must stand in double quotes");
    EXPECT_EQ(refusal("a = \"\\\u00e9\""),
              "f:1: a backslash must not stand before a character outside of ASCII");
    EXPECT_EQ(refusal("a = \"\"\"\n"), "f:1: text over several lines is not allowed for any key");
    EXPECT_EQ(refusal("a = '''b'''"), "f:1: text over several lines is not allowed for any key");
    for (const std::string_view text :
         {std::string_view("\0", 1), std::string_view("a = \"\0\"", 7), std::string_view("\xff"),
          std::string_view("a = \"\xc3\""), std::string_view("a = \"\xed\xa0\x80\"")}) {
        EXPECT_EQ(refusal(text), "f:1: the line contains a NUL byte or is not UTF-8");
    }
    EXPECT_EQ(refusal(std::string(33, '.')), "f:1: too many dots; a key is written as section.key");
    EXPECT_EQ(refusal(std::string(32, '.')), "");
    for (const std::string_view text :
         {"a = \"b", "a = 'b", "a = \"b\\\"", "a = \"\\", "a = \"b\nc\""}) {
        EXPECT_EQ(refusal(text), "f:1: the text in quotes does not end on its line") << text;
    }
}

}  // namespace
}  // namespace belljar::config
