#include "engine/file_transfer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <thread>

#include "crypto/digest.h"
#include "jar/courier.h"
#include "storage/conversation_store.h"

namespace belljar::engine {
namespace {

using execution::FileChange;
using jar::PackKind;
using jar::PackWriter;

// A store on one side, on the other a workspace with its courier, or whoever writes what he likes.
class FileTransferTest : public ::testing::Test {
   protected:
    void SetUp() override {
        std::string name = ::testing::TempDir() + "transfer-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        top = name;
        std::filesystem::create_directory(top / "workspace");
        const Fd data(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        store = *storage::ConversationStore::open(data, {});
        directory.emplace(*store->make_conversation(name_of("")));
        std::array<int, 2> ends{};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        channel.socket = Fd(ends[0]);
        jar_end = Fd(ends[1]);
    }
    void TearDown() override { std::filesystem::remove_all(top); }

    static execution::FileName name_of(std::string path) {
        return {.conversation_id = "talk", .path = std::move(path)};
    }

    void start_courier() {
        courier.emplace(std::move(jar_end), Fd(::open((top / "workspace").c_str(),
                                                      O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
    }

    Result<void> give() {
        std::thread jar([this] { EXPECT_TRUE(courier->on_readable()); });
        Result<void> given = give_files(channel, *directory, bounds, soon());
        jar.join();
        return given;
    }

    Result<TakenFiles> take(const std::optional<ProgramFile>& program = std::nullopt) {
        std::thread jar(
            [this] { EXPECT_TRUE(courier->send_changes(jar::Courier::Guests::Ended)); });
        Result<TakenFiles> taken = take_files(channel, *directory, bounds, program, soon());
        jar.join();
        return taken;
    }

    // What comes of a stream that `write` sends and then breaks off.
    TakenFiles take_from(const std::function<void(PackWriter&)>& write) {
        std::thread jar([this, &write] {
            PackWriter writer(jar_end, soon());
            write(writer);
            [[maybe_unused]] const Result<void> sent = writer.flush();
            jar_end.reset();
        });
        Result<TakenFiles> taken = take_files(channel, *directory, bounds, std::nullopt, soon());
        jar.join();
        EXPECT_TRUE(taken);
        return taken ? std::move(*taken) : TakenFiles{};
    }

    static void send_file(PackWriter& writer, const std::string& path, std::string_view content) {
        ASSERT_TRUE(writer.entry({.kind = PackKind::File, .path = path}));
        ASSERT_TRUE(writer.data(content));
        ASSERT_TRUE(writer.entry({.kind = PackKind::FileEnd}));
    }

    static TimePoint soon() { return Clock::now() + std::chrono::seconds(10); }

    void change(const std::string& path, const std::string& content) const {
        std::ofstream(top / "workspace" / path) << content;
    }
    [[nodiscard]] std::string stored(const std::string& path) const {
        const auto part = store->read(name_of(path), 0, 1 << 20);
        return part ? part->content : "(none)";
    }

    std::filesystem::path top;
    std::unique_ptr<storage::ConversationStore> store;
    std::optional<storage::ConversationDirectory> directory;
    storage::ConversationBounds bounds{};
    FileChannel channel;
    Fd jar_end;
    std::optional<jar::Courier> courier;
};

TEST_F(FileTransferTest, GoesThereAndBack) {
    ASSERT_TRUE(store->write(name_of("a"), "1"));
    ASSERT_TRUE(store->write(name_of("d/b"), "2"));
    start_courier();
    ASSERT_TRUE(give());
    EXPECT_TRUE(std::filesystem::exists(top / "workspace/d/b"));
    change("a", "changed");
    change("c", "created");
    std::filesystem::remove(top / "workspace/d/b");
    const Result<TakenFiles> taken = take();
    ASSERT_TRUE(taken && taken->whole);
    ASSERT_EQ(taken->changes.size(), 3U);
    EXPECT_EQ(taken->changes[0].kind, FileChange::Kind::Deleted);
    EXPECT_EQ(taken->changes[0].file.path, "d/b");
    EXPECT_EQ(stored("a"), "changed");
    EXPECT_EQ(stored("c"), "created");
    EXPECT_EQ(stored("d/b"), "(none)");
}

TEST_F(FileTransferTest, ASecondTimeOnlyTheDifferenceIsGiven) {
    ASSERT_TRUE(store->write(name_of("a"), "1"));
    ASSERT_TRUE(store->write(name_of("b"), "2"));
    start_courier();
    ASSERT_TRUE(give());
    ASSERT_TRUE(store->remove(name_of("a")));
    ASSERT_TRUE(store->write(name_of("b"), "two"));
    ASSERT_TRUE(store->write(name_of("c"), "3"));
    ASSERT_TRUE(give());
    EXPECT_FALSE(std::filesystem::exists(top / "workspace/a"));
    EXPECT_EQ(std::filesystem::file_size(top / "workspace/b"), 3U);
    EXPECT_TRUE(std::filesystem::exists(top / "workspace/c"));
    EXPECT_TRUE(take()->changes.empty()) << "what was given is no change";
}

TEST_F(FileTransferTest, TheProgramItselfIsNotKept) {
    start_courier();
    ASSERT_TRUE(give());
    change("main.sh", "echo");
    EXPECT_TRUE(
        take(ProgramFile{.names = {"main.cjs", "main.sh"}, .sha256 = crypto::sha256_hex("echo")})
            ->changes.empty());
    change("main.sh", "rewritten");
    EXPECT_EQ(
        take(ProgramFile{.names = {"main.cjs", "main.sh"}, .sha256 = crypto::sha256_hex("echo")})
            ->changes.size(),
        1U);
}

TEST_F(FileTransferTest, WhatFindsNoRoomIsSaid) {
    ASSERT_TRUE(store->write(name_of("d/a"), "1"));
    start_courier();
    change("d", "in the way");
    const Result<void> given = give();
    ASSERT_FALSE(given);
    EXPECT_EQ(given.error().code, ErrorCode::TooLarge);
}

TEST_F(FileTransferTest, WhatIsCompleteIsKeptOfAStreamThatBreaksOff) {
    const TakenFiles taken = take_from([](PackWriter& writer) {
        send_file(writer, "whole", "1");
        ASSERT_TRUE(writer.entry({.kind = PackKind::File, .path = "torn"}));
        ASSERT_TRUE(writer.data("2"));
    });
    EXPECT_FALSE(taken.whole);
    EXPECT_EQ(taken.changes.size(), 1U);
    EXPECT_EQ(stored("whole"), "1");
    EXPECT_EQ(stored("torn"), "(none)");
}

TEST_F(FileTransferTest, AHostileStreamReachesNothingElse) {
    std::ofstream(top / "secret") << "secret";
    const TakenFiles taken = take_from([](PackWriter& writer) {
        send_file(writer, "good", "1");
        send_file(writer, "../../../../secret", "overwritten");
        send_file(writer, "after", "2");
    });
    EXPECT_FALSE(taken.whole);
    EXPECT_EQ(stored("good"), "1");
    EXPECT_EQ(stored("after"), "(none)");
    std::ifstream secret(top / "secret");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(secret), {}), "secret");
}

TEST_F(FileTransferTest, QuotasHoldAgainstAJarThatHasNone) {
    bounds = {.space = Bytes{10}, .entries = 3};
    const TakenFiles taken = take_from([](PackWriter& writer) {
        send_file(writer, "large", "12345678901");
        for (const char* path : {"a", "b", "c", "d"}) {
            send_file(writer, path, "x");
        }
        ASSERT_TRUE(writer.entry({.kind = PackKind::End, .number = 0}));
    });
    EXPECT_TRUE(taken.whole);
    EXPECT_EQ(taken.changes.size(), 3U);
    EXPECT_EQ(taken.left_count, 2U);
    EXPECT_EQ(stored("large"), "(none)");
}

TEST_F(FileTransferTest, CountsWhatTheJarLeftOnce) {
    const TakenFiles taken = take_from([](PackWriter& writer) {
        ASSERT_TRUE(writer.entry(
            {.kind = PackKind::Left, .path = "link", .reason = jar::LeftReason::Link}));
        ASSERT_TRUE(writer.entry({.kind = PackKind::End, .number = 1'000'000}));
    });
    EXPECT_EQ(taken.left_count, 1'000'000U);
    ASSERT_EQ(taken.left.size(), 1U);
    EXPECT_EQ(taken.left.front().path, "link");
}

TEST_F(FileTransferTest, AJarThatIsGoneGetsNothing) {
    jar_end.reset();
    EXPECT_FALSE(give_files(channel, *directory, bounds, soon()));
    EXPECT_FALSE(ask_for_files(channel, soon()));
    EXPECT_FALSE(take_files(channel, *directory, bounds, std::nullopt, soon())->whole);
}

}  // namespace
}  // namespace belljar::engine
