#include "jar/launch_request.h"

#include <gtest/gtest.h>

namespace belljar::jar {
namespace {

LaunchRequest full_request() {
    return {.compile = {"/usr/bin/gcc", "-o", "/tmp/program", "main.c"},
            .compile_time = std::chrono::seconds(20),
            .compile_memory = mebibytes(512),
            .run = {"/tmp/program"},
            .arguments = {"", "h\xC3\xA9", "-x"},
            .environment = {"HOME=/workspace", "EMPTY="},
            .files = {{.path = "a/b", .content = std::string("\0\n", 2)}, {.path = "main.c"}}};
}

TEST(LaunchRequest, ComesThroughUnchanged) {
    EXPECT_EQ(decode_launch_request(encode(full_request())).value(), full_request());
    const LaunchRequest small{.run = {"/bin/true"}};
    EXPECT_EQ(decode_launch_request(encode(small)).value(), small);
}

TEST(LaunchRequest, RefusesEveryPartOfIt) {
    const std::string whole = encode(full_request());
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_FALSE(decode_launch_request(std::string_view(whole).substr(0, size))) << size;
    }
    EXPECT_FALSE(decode_launch_request(whole + '\0'));
}

// Whatever byte is changed, the answer is a request or a refusal; a count or a length that exceeds
// the data is a refusal before anything of that size is made.
TEST(LaunchRequest, SurvivesEveryChangedByte) {
    const std::string whole = encode(full_request());
    for (std::size_t place = 0; place < whole.size(); ++place) {
        for (const char value : {'\0', '\x7f', '\xff'}) {
            std::string changed = whole;
            changed[place] = value;
            const Result<LaunchRequest> request = decode_launch_request(changed);
            EXPECT_TRUE(!request || !request->run.empty());
        }
    }
}

TEST(LaunchRequest, RefusesWhatCannotBeExecuted) {
    EXPECT_FALSE(decode_launch_request(encode({})));
    EXPECT_FALSE(decode_launch_request(encode({.run = {std::string("a\0b", 3)}})));
    EXPECT_FALSE(decode_launch_request(
        encode({.run = {"/bin/true"}, .environment = {std::string("A=\0", 3)}})));
    EXPECT_FALSE(decode_launch_request(
        encode({.compile_time = std::chrono::seconds(-1), .run = {"/bin/true"}})));
}

}  // namespace
}  // namespace belljar::jar
