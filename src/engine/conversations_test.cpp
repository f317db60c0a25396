#include "engine/conversations.h"

#include <gtest/gtest.h>

namespace belljar::engine {
namespace {

TEST(FileUri, EncodesWhatIsNoPlainLetter) {
    EXPECT_EQ(file_uri("chat 1/ü", "a b/c%.txt"),
              "belljar://conversations/chat%201%2F%C3%BC/files/a%20b/c%25.txt");
}

TEST(FileUri, IsReadBack) {
    const auto name = parse_file_uri(file_uri("chat 1/ü\\..", "a b/c%.txt"));
    ASSERT_TRUE(name);
    EXPECT_EQ(name->conversation_id, "chat 1/ü\\..");
    EXPECT_EQ(name->path, "a b/c%.txt");
}

TEST(FileUri, IsNothingElse) {
    for (const char* uri :
         {"", "belljar://conversations/", "belljar://conversations/a", "http://a/files/b",
          "belljar://conversations/a/files/", "belljar://conversations//files/b",
          "belljar://conversations/a/other/b", "belljar://conversations/a%2/files/b",
          "belljar://conversations/a%zz/files/b", "belljar://conversations/a/files/%4"}) {
        EXPECT_FALSE(parse_file_uri(uri)) << uri;
    }
}

}  // namespace
}  // namespace belljar::engine
