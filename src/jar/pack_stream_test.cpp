#include "jar/pack_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "base/beneath.h"

namespace belljar::jar {
namespace {

class Recorder final : public PackSink {
   public:
    Result<void> on_entry(const PackedEntry& entry) override {
        story += std::to_string(static_cast<int>(entry.kind)) + ":" + entry.path + " ";
        last = entry;
        return {};
    }
    Result<void> on_data(std::string_view data) override {
        story += "data:" + std::string(data) + " ";
        return {};
    }

    std::string story;
    PackedEntry last;
};

std::string record(const PackHeader& header, std::string_view body = {}) {
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
    return bytes + std::string(body);
}

PackHeader header_of(PackKind kind, std::size_t length = 0) {
    return {.kind = kind,
            .length = static_cast<std::uint32_t>(length),
            .number = 0,
            .executable = 0,
            .reason = LeftReason::None};
}

std::string named(PackKind kind, std::string_view path) {
    return record(header_of(kind, path.size()), path);
}

// Whether the bytes are a stream, whole or not.
bool is_accepted(std::string_view bytes) {
    Recorder recorder;
    PackParser parser(recorder);
    while (!parser.ended() && bytes.size() >= parser.wanted()) {
        const std::size_t wanted = parser.wanted();
        if (!parser.feed(bytes.substr(0, wanted))) {
            return false;
        }
        bytes.remove_prefix(wanted);
    }
    return true;
}

class PackStreamTest : public ::testing::Test {
   protected:
    void SetUp() override {
        std::array<int, 2> ends{};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        ours = Fd(ends[0]);
        theirs = Fd(ends[1]);
    }

    Fd ours;
    Fd theirs;
    Recorder recorder;
};

TEST_F(PackStreamTest, ArrivesAsItWasSent) {
    PackWriter writer(ours, TimePoint::max());
    ASSERT_TRUE(writer.entry({.kind = PackKind::Gone, .path = "old"}));
    ASSERT_TRUE(writer.entry({.kind = PackKind::Directory, .path = "d"}));
    ASSERT_TRUE(
        writer.entry({.kind = PackKind::File, .path = "d/f", .number = 123, .executable = true}));
    ASSERT_TRUE(writer.data("abc"));
    ASSERT_TRUE(writer.entry({.kind = PackKind::FileEnd}));
    ASSERT_TRUE(writer.entry({.kind = PackKind::Left, .path = "l", .reason = LeftReason::Link}));
    ASSERT_TRUE(writer.entry({.kind = PackKind::End, .number = 7}));
    ASSERT_TRUE(writer.flush());
    ASSERT_TRUE(receive_pack(theirs, recorder, TimePoint::max()));
    EXPECT_EQ(recorder.story, "5:old 1:d 2:d/f data:abc 4: 6:l 7: ");
    EXPECT_EQ(recorder.last.number, 7);
}

TEST_F(PackStreamTest, LeavesTheNextStreamAlone) {
    for (const char* path : {"one", "two"}) {
        PackWriter writer(ours, TimePoint::max());
        ASSERT_TRUE(writer.entry({.kind = PackKind::Directory, .path = path}));
        ASSERT_TRUE(writer.entry({.kind = PackKind::End}));
        ASSERT_TRUE(writer.flush());
    }
    ASSERT_TRUE(receive_pack(theirs, recorder, TimePoint::max()));
    EXPECT_EQ(recorder.story, "1:one 7: ");
    ASSERT_TRUE(receive_pack(theirs, recorder, TimePoint::max()));
    EXPECT_EQ(recorder.story, "1:one 7: 1:two 7: ");
}

TEST_F(PackStreamTest, WithoutAnEndIsAnError) {
    const std::string bytes = named(PackKind::Directory, "d");
    ASSERT_TRUE(write_all(ours, bytes.substr(0, bytes.size() - 1)));
    ours.reset();
    const Result<void> received = receive_pack(theirs, recorder, TimePoint::max());
    ASSERT_FALSE(received);
    EXPECT_EQ(received.error().code, ErrorCode::Unavailable);
    EXPECT_EQ(recorder.story, "");
}

TEST_F(PackStreamTest, IsNotWaitedForBeyondTheDeadline) {
    const Result<void> received =
        receive_pack(theirs, recorder, Clock::now() + std::chrono::milliseconds(20));
    ASSERT_FALSE(received);
    EXPECT_EQ(received.error().code, ErrorCode::Unavailable);
}

TEST_F(PackStreamTest, IsNotSentBeyondTheDeadline) {
    PackWriter writer(ours, Clock::now() + std::chrono::milliseconds(20));
    Result<void> sent;
    for (int tries = 0; tries < 1000 && sent; ++tries) {
        sent = writer.data(std::string(kLargestBody, 'x'));
    }
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().code, ErrorCode::Unavailable);
}

TEST(PackParser, TakesPlainPathsOnly) {
    EXPECT_TRUE(is_accepted(named(PackKind::Directory, "a/b")));
    for (const PackKind kind : {PackKind::Directory, PackKind::File, PackKind::Gone}) {
        for (const std::string& path :
             {std::string("../a"), std::string("/etc/passwd"), std::string("a/../b"),
              std::string("a//b"), std::string("."), std::string("a\0b", 3), std::string("\xff"),
              std::string("a\n"), std::string(kLongestPath + 1, 'a')}) {
            EXPECT_FALSE(is_accepted(named(kind, path))) << path;
        }
        EXPECT_FALSE(is_accepted(record(header_of(kind)))) << "no path";
    }
}

TEST(PackParser, KnowsWhatBelongsWhere) {
    const std::string file = named(PackKind::File, "f");
    const std::string data = record(header_of(PackKind::Data, 1), "x");
    const std::string end = record(header_of(PackKind::FileEnd));
    EXPECT_TRUE(is_accepted(file + data + data + end + file + end));
    EXPECT_FALSE(is_accepted(data));
    EXPECT_FALSE(is_accepted(end));
    EXPECT_FALSE(is_accepted(file + file));
    EXPECT_FALSE(is_accepted(file + named(PackKind::Gone, "g")));
    EXPECT_FALSE(is_accepted(file + record(header_of(PackKind::End))));
    EXPECT_FALSE(is_accepted(file + end + data));
}

TEST(PackParser, RefusesWhatNoRecordIs) {
    for (const std::uint32_t kind : {0U, 9U, 0xffffffffU}) {
        EXPECT_FALSE(is_accepted(record(header_of(static_cast<PackKind>(kind)))));
    }
    PackHeader header = header_of(PackKind::End);
    header.executable = 2;
    EXPECT_FALSE(is_accepted(record(header)));
    header = header_of(PackKind::Left, 1);
    header.reason = static_cast<LeftReason>(99);
    EXPECT_FALSE(is_accepted(record(header, "x")));
    EXPECT_FALSE(is_accepted(record(header_of(PackKind::End, 1), "x")));
    const std::string file = named(PackKind::File, "f");
    EXPECT_FALSE(is_accepted(file + record(header_of(PackKind::Data, kLargestBody + 1))));
    EXPECT_FALSE(is_accepted(file + record(header_of(PackKind::Data, 0xffffffffU))));
    EXPECT_FALSE(is_accepted(file + record(header_of(PackKind::Data))));
}

TEST(PackParser, TakesNothingAfterTheEnd) {
    Recorder recorder;
    PackParser parser(recorder);
    const std::string end = record(header_of(PackKind::End));
    ASSERT_TRUE(parser.feed(end));
    EXPECT_TRUE(parser.ended());
    EXPECT_FALSE(parser.feed(end));
}

}  // namespace
}  // namespace belljar::jar
