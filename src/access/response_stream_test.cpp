#include "access/response_stream.h"

#include <gtest/gtest.h>

namespace belljar::access {
namespace {

class ResponseStreamTest : public testing::Test {
   protected:
    int opened = 0;
    int pieces = 0;
    ResponseStream stream{{.on_open = [this] { ++opened; }, .on_piece = [this] { ++pieces; }}};
};

TEST_F(ResponseStreamTest, GivesWhatWasPutIn) {
    EXPECT_FALSE(stream.is_open());
    stream.open({.content_type = "text/plain"});
    EXPECT_TRUE(stream.is_open());
    EXPECT_EQ(stream.head().content_type, "text/plain");
    EXPECT_TRUE(stream.offer("a"));
    stream.put("b");
    EXPECT_EQ(opened, 1);
    EXPECT_EQ(pieces, 2);
    EXPECT_EQ(stream.take(), "ab");
    EXPECT_TRUE(stream.empty());
    EXPECT_EQ(stream.taken(), 2U);
}

TEST_F(ResponseStreamTest, CarriesTheHeadersOfItsConnection) {
    stream.add_headers({{"Vary", "Origin"}});
    stream.open({.headers = {{"X-Accel-Buffering", "no"}}});
    const std::vector<std::pair<std::string, std::string>> expected{{"X-Accel-Buffering", "no"},
                                                                    {"Vary", "Origin"}};
    EXPECT_EQ(stream.head().headers, expected);
}

TEST_F(ResponseStreamTest, LeavesOutWhatDoesNotFitUntilHalfIsFree) {
    stream.open({});
    const std::string piece(1024, 'x');
    const std::size_t capacity = ResponseStream::kCapacity.count / piece.size();
    for (std::size_t index = 0; index < capacity; ++index) {
        EXPECT_TRUE(stream.offer(piece));
    }
    EXPECT_FALSE(stream.offer(piece));
    EXPECT_FALSE(stream.offer("y")) << "a small one would make a gap of its own";
    EXPECT_EQ(stream.take().size(), ResponseStream::kCapacity.count);
    EXPECT_TRUE(stream.offer("y"));
}

TEST_F(ResponseStreamTest, TakesWhatMustNotBeLeftOut) {
    stream.open({});
    const std::string large(ResponseStream::kCapacity.count + 1, 'x');
    EXPECT_FALSE(stream.offer(large));
    stream.put(large);
    EXPECT_EQ(stream.take(), large);
}

TEST_F(ResponseStreamTest, LosesEverythingOnceTheConnectionHasGone) {
    stream.open({});
    stream.detach();
    EXPECT_FALSE(stream.offer("a"));
    stream.put("b");
    EXPECT_EQ(pieces, 0);
    EXPECT_TRUE(stream.empty());
}

}  // namespace
}  // namespace belljar::access
