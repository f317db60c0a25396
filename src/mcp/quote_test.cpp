#include "mcp/quote.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace belljar::mcp {
namespace {

TEST(Quote, ShortTextIsKept) {
    EXPECT_EQ(quote("run"), "\"run\"");
    EXPECT_EQ(quote(""), "\"\"");
}

TEST(Quote, LongTextIsCutBetweenCharacters) {
    std::string text(63, 'a');
    text += "\xE2\x82\xAC and more";
    EXPECT_EQ(quote(text), "\"" + std::string(63, 'a') + "...\"");
}

TEST(Quote, InvalidBytesAreReplaced) {
    EXPECT_TRUE(is_valid_utf8(quote("\xFF\x80")));
    EXPECT_TRUE(is_valid_utf8(quote(std::string(200, '\x80'))));
}

}  // namespace
}  // namespace belljar::mcp
