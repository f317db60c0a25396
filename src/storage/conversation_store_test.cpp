#include "storage/conversation_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "crypto/digest.h"

namespace belljar::storage {
namespace {

using execution::Digest;
using execution::FileChange;
using execution::FileName;

class ConversationStoreTest : public ::testing::Test {
   protected:
    void SetUp() override {
        std::string name = ::testing::TempDir() + "conversations-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        top = name;
        reopen({});
    }
    void TearDown() override { std::filesystem::remove_all(top); }

    void reopen(ConversationStore::Bounds bounds) {
        const Fd data(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        auto opened = ConversationStore::open(data, bounds);
        ASSERT_TRUE(opened);
        store = std::move(*opened);
    }

    static FileName file(std::string path, std::string id = "talk", std::string principal = "") {
        return {.principal = std::move(principal),
                .conversation_id = std::move(id),
                .path = std::move(path)};
    }

    [[nodiscard]] std::string content_of(const FileName& name) const {
        const auto part = store->read(name, 0, 1 << 20);
        return part ? part->content : "(" + part.error().message + ")";
    }
    [[nodiscard]] ErrorCode write_error(const FileName& name,
                                        std::string_view content = "x") const {
        const auto written = store->write(name, content);
        return written ? ErrorCode::Internal : written.error().code;
    }
    [[nodiscard]] std::filesystem::path place_of(const FileName& name) const {
        return top / "conversations" / crypto::sha256_hex(name.principal) /
               crypto::sha256_hex(name.conversation_id) / "files";
    }

    std::filesystem::path top;
    std::unique_ptr<ConversationStore> store;
};

TEST_F(ConversationStoreTest, KeepsFilesAcrossStarts) {
    const auto written = store->write(file("d/a.csv"), "1,2");
    ASSERT_TRUE(written);
    EXPECT_EQ(written->kind, FileChange::Kind::Created);
    EXPECT_EQ(written->file.sha256, crypto::sha256_hex("1,2"));
    EXPECT_EQ(written->file.mime, "text/csv");
    reopen({});
    EXPECT_EQ(content_of(file("d/a.csv")), "1,2");
    EXPECT_EQ(store->write(file("d/a.csv"), "3")->kind, FileChange::Kind::Changed);
    EXPECT_EQ(content_of(file("d/a.csv")), "3");
}

TEST_F(ConversationStoreTest, ReadsParts) {
    ASSERT_TRUE(store->write(file("a"), "0123456789"));
    EXPECT_EQ(store->read(file("a"), 3, 4)->content, "3456");
    EXPECT_EQ(store->read(file("a"), 8, 100)->content, "89");
    EXPECT_EQ(store->read(file("a"), 10, 1)->content, "");
    EXPECT_EQ(store->read(file("a"), UINT64_MAX, UINT64_MAX)->content, "");
    EXPECT_EQ(store->read(file("a"), 3, 4)->file.size, 10U);
}

TEST_F(ConversationStoreTest, ListsSorted) {
    for (const char* path : {"b", "a/x", "a/b/c", "ab"}) {
        ASSERT_TRUE(store->write(file(path), path));
    }
    const auto paths = [this](const std::string& prefix) {
        std::vector<std::string> found;
        const auto views = store->files(file(prefix));
        for (const auto& view : views ? *views : std::vector<execution::FileView>{}) {
            found.push_back(view.path);
        }
        return found;
    };
    EXPECT_EQ(paths(""), (std::vector<std::string>{"a/b/c", "a/x", "ab", "b"}));
    EXPECT_EQ(paths("a"), (std::vector<std::string>{"a/b/c", "a/x"}));
    EXPECT_EQ(paths("b"), (std::vector<std::string>{"b"}));
    EXPECT_EQ(paths("none"), (std::vector<std::string>{}));
}

TEST_F(ConversationStoreTest, BelongsToOnePrincipal) {
    ASSERT_TRUE(store->write(file("a", "talk", "alice"), "hers"));
    ASSERT_TRUE(store->write(file("a", "talk", "bob"), "his"));
    EXPECT_EQ(content_of(file("a", "talk", "alice")), "hers");
    EXPECT_EQ(content_of(file("a", "talk", "bob")), "his");
    EXPECT_EQ(store->files(file("", "talk", "carol")).error().code, ErrorCode::NotFound);
    EXPECT_TRUE(store->list("carol")->empty());
    ASSERT_TRUE(store->remove_conversation("alice", "talk"));
    EXPECT_EQ(content_of(file("a", "talk", "bob")), "his");
}

TEST_F(ConversationStoreTest, AnyTextNamesAConversationAndNoneIsAPath) {
    for (const std::string& id :
         {std::string("../.."), std::string("/etc"), std::string("."), std::string("a/b"),
          std::string("Gespräch 1 %2e"), std::string(256, 'x')}) {
        ASSERT_TRUE(store->write(file("f", id), id)) << id;
        EXPECT_EQ(content_of(file("f", id)), id);
    }
    for (const std::string& id : {std::string(), std::string("a\nb"), std::string("a\0b", 3),
                                  std::string("\xff"), std::string(257, 'x')}) {
        EXPECT_EQ(write_error(file("f", id)), ErrorCode::InvalidArgument) << id;
    }
    for (const auto& entry : std::filesystem::directory_iterator(top)) {
        EXPECT_EQ(entry.path().filename(), "conversations");
    }
    EXPECT_EQ(store->list("")->size(), 6U);
}

TEST_F(ConversationStoreTest, NoPathLeadsOut) {
    ASSERT_TRUE(store->write(file("a"), "x"));
    std::ofstream(top / "secret") << "secret";
    for (const char* path :
         {"../../../../secret", "/etc/passwd", "a/../../x", "./a", "a//b", "", "a\nb", "\xff"}) {
        EXPECT_EQ(write_error(file(path)), ErrorCode::InvalidArgument) << path;
        EXPECT_FALSE(store->read(file(path), 0, 10)) << path;
        EXPECT_FALSE(store->remove(file(path))) << path;
    }
}

TEST_F(ConversationStoreTest, LinksAndSpecialFilesDoNotExist) {
    ASSERT_TRUE(store->write(file("a"), "x"));
    std::ofstream(top / "secret") << "secret";
    const std::filesystem::path place = place_of(file("a"));
    std::filesystem::create_symlink(top / "secret", place / "link");
    std::filesystem::create_directory_symlink(top, place / "directory");
    ASSERT_EQ(::mkfifo((place / "pipe").c_str(), 0600), 0);
    for (const char* path : {"link", "directory/secret", "pipe"}) {
        EXPECT_EQ(store->read(file(path), 0, 10).error().code, ErrorCode::NotFound) << path;
        EXPECT_EQ(store->find(file(path), Digest::Computed).error().code, ErrorCode::NotFound);
    }
    EXPECT_EQ(store->files(file(""))->size(), 1U);
    EXPECT_FALSE(store->write(file("directory/secret"), "overwritten"));
    ASSERT_TRUE(store->write(file("link"), "a file of its own"));
    std::ifstream secret(top / "secret");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(secret), {}), "secret");
}

TEST_F(ConversationStoreTest, ADirectoryIsNoFile) {
    ASSERT_TRUE(store->write(file("d/f"), "x"));
    EXPECT_EQ(write_error(file("d")), ErrorCode::InvalidArgument);
    EXPECT_EQ(write_error(file("d/f/g")), ErrorCode::InvalidArgument);
    EXPECT_EQ(store->remove(file("d")).error().code, ErrorCode::NotFound);
    EXPECT_EQ(content_of(file("d/f")), "x");
}

TEST_F(ConversationStoreTest, SpaceIsAHardLimit) {
    reopen({.each = {.space = Bytes{10}, .entries = 10}});
    ASSERT_TRUE(store->write(file("a"), "12345"));
    ASSERT_TRUE(store->write(file("b"), "12345"));
    EXPECT_EQ(write_error(file("c")), ErrorCode::QuotaReached);
    EXPECT_EQ(write_error(file("a"), "123456"), ErrorCode::QuotaReached);
    EXPECT_EQ(content_of(file("a")), "12345") << "what was there is untouched";
    ASSERT_TRUE(store->write(file("a"), "54321")) << "as much as before";
    ASSERT_TRUE(store->remove(file("b")));
    EXPECT_TRUE(store->write(file("c"), "12345"));
}

TEST_F(ConversationStoreTest, NumbersAreHardLimits) {
    reopen({.each = {.entries = 3}, .conversations = 2});
    ASSERT_TRUE(store->write(file("a"), "x"));
    EXPECT_EQ(write_error(file("d/e/f")), ErrorCode::QuotaReached) << "directories count";
    ASSERT_TRUE(store->write(file("d/e"), "x"));
    EXPECT_EQ(write_error(file("z")), ErrorCode::QuotaReached);
    ASSERT_TRUE(store->write(file("a", "second"), "x"));
    EXPECT_EQ(write_error(file("a", "third")), ErrorCode::QuotaReached);
    EXPECT_TRUE(store->write(file("a", "third", "somebody else"), "x"));
    ASSERT_TRUE(store->remove_conversation("", "second"));
    EXPECT_TRUE(store->write(file("a", "third"), "x"));
}

TEST_F(ConversationStoreTest, ToldOfWhatIsUsed) {
    ASSERT_TRUE(store->write(file("a", "one"), "12345"));
    ASSERT_TRUE(store->write(file("d/b", "one"), "123"));
    const auto views = store->list("");
    ASSERT_EQ(views->size(), 1U);
    EXPECT_EQ(views->front().conversation_id, "one");
    EXPECT_EQ(views->front().bytes, 8U);
    EXPECT_EQ(views->front().files, 2U);
}

TEST_F(ConversationStoreTest, ARemovedConversationIsGone) {
    ASSERT_TRUE(store->write(file("d/a"), "x"));
    const Result<ConversationDirectory> held = store->open_conversation(file(""));
    ASSERT_TRUE(held);
    {
        const Result<Fd> turn = held->take_turn();
        ASSERT_TRUE(turn);
        EXPECT_EQ(store->remove_conversation("", "talk").error().code, ErrorCode::Conflict);
    }
    ASSERT_TRUE(store->remove_conversation("", "talk"));
    EXPECT_EQ(store->remove_conversation("", "talk").error().code, ErrorCode::NotFound);
    EXPECT_EQ(store->files(file("")).error().code, ErrorCode::NotFound);
    EXPECT_TRUE(std::filesystem::is_empty(top / "conversations" / crypto::sha256_hex("")));
    EXPECT_FALSE(ConversationChanges::begin(*held, {}, Clock::now())) << "nor for who had it open";
}

TEST_F(ConversationStoreTest, TurnsAreTakenOneAtATime) {
    const Result<ConversationDirectory> one = store->make_conversation(file(""));
    const Result<ConversationDirectory> other = store->open_conversation(file(""));
    Result<Fd> turn = one->take_turn();
    ASSERT_TRUE(turn);
    EXPECT_EQ(other->take_turn().error().code, ErrorCode::Conflict);
    turn->reset();
    EXPECT_TRUE(other->take_turn());
}

TEST_F(ConversationStoreTest, ChangesThatAreNotFinishedAreNotSeen) {
    ASSERT_TRUE(store->write(file("a"), "old"));
    {
        const Result<ConversationDirectory> directory = store->open_conversation(file(""));
        auto changes = ConversationChanges::begin(*directory, {}, Clock::now());
        ASSERT_TRUE(changes);
        changes->remove("a");
        ASSERT_TRUE(changes->begin_file({.path = "b"}));
        ASSERT_TRUE(changes->append("new"));
        ASSERT_TRUE(changes->end_file());
        ASSERT_TRUE(changes->begin_file({.path = "c"}));
    }
    EXPECT_EQ(content_of(file("a")), "old");
    EXPECT_EQ(store->files(file(""))->size(), 1U);
    ASSERT_TRUE(store->write(file("d"), "x"));
    EXPECT_TRUE(std::filesystem::is_empty(place_of(file("")).parent_path() / "incoming"));
}

TEST_F(ConversationStoreTest, ACrashInTheMiddleOfAWriteLosesNothing) {
    ASSERT_TRUE(store->write(file("a"), "old"));
    const pid_t child = ::fork();
    if (child == 0) {
        const Result<ConversationDirectory> directory = store->open_conversation(file(""));
        auto changes = ConversationChanges::begin(*directory, {}, Clock::now());
        const bool begun = changes && changes->begin_file({.path = "a"}) && changes->append("new");
        ::kill(::getpid(), begun ? SIGKILL : SIGABRT);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(WTERMSIG(status), SIGKILL);
    EXPECT_EQ(content_of(file("a")), "old");
    EXPECT_TRUE(store->write(file("a"), "newer")) << "its lock died with it";
    EXPECT_EQ(content_of(file("a")), "newer");
}

TEST_F(ConversationStoreTest, ManyAtOnceDoNotHurtEachOther) {
    reopen({.each = {.entries = 25}, .conversations = 3});
    std::vector<std::thread> threads;
    std::atomic<int> kept = 0;
    for (int writer = 0; writer < 4; ++writer) {
        threads.emplace_back([&, writer] {
            for (int index = 0; index < 10; ++index) {
                const std::string name = std::to_string(writer) + "-" + std::to_string(index);
                kept += store->write(file(name), name) ? 1 : 0;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(kept, 25);
    EXPECT_EQ(store->files(file(""))->size(), 25U);
}

TEST_F(ConversationStoreTest, ManyChangesAreMadeTogether) {
    const Result<ConversationDirectory> directory = store->make_conversation(file(""));
    auto changes = ConversationChanges::begin(*directory, {}, Clock::now());
    ASSERT_TRUE(changes);
    ASSERT_TRUE(changes->make_directory("empty"));
    for (int index = 0; index < 100; ++index) {
        ASSERT_TRUE(changes->begin_file({.path = "d/" + std::to_string(index)}));
        ASSERT_TRUE(changes->append("x"));
        ASSERT_TRUE(changes->end_file());
    }
    EXPECT_EQ(changes->finish()->size(), 100U);
    EXPECT_EQ(store->files(file(""))->size(), 100U);
    EXPECT_TRUE(std::filesystem::is_directory(place_of(file("")) / "empty"));
}

TEST_F(ConversationStoreTest, TheSameContentIsNoChange) {
    ASSERT_TRUE(store->write(file("a"), "same"));
    const Result<ConversationDirectory> directory = store->open_conversation(file(""));
    auto changes = ConversationChanges::begin(*directory, {}, Clock::now());
    ASSERT_TRUE(changes->begin_file({.path = "a"}));
    ASSERT_TRUE(changes->append("same"));
    ASSERT_TRUE(changes->end_file());
    EXPECT_TRUE(changes->finish()->empty());
    EXPECT_EQ(content_of(file("a")), "same");
}

TEST_F(ConversationStoreTest, AFileIsNeverFromTheFuture) {
    const Result<ConversationDirectory> directory = store->make_conversation(file(""));
    auto changes = ConversationChanges::begin(*directory, {}, Clock::now());
    ASSERT_TRUE(changes->begin_file({.path = "a", .modified = INT64_MAX}));
    ASSERT_TRUE(changes->end_file());
    ASSERT_TRUE(changes->begin_file({.path = "b", .modified = INT64_MIN}));
    ASSERT_TRUE(changes->end_file());
    ASSERT_TRUE(changes->finish());
    EXPECT_LE(store->find(file("a"), Digest::Omitted)->modified, std::chrono::system_clock::now());
    EXPECT_EQ(store->find(file("b"), Digest::Omitted)->modified, execution::WallTime{});
}

TEST_F(ConversationStoreTest, ADirectoryOfSomebodyElseIsRefused) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can give directories away";
    }
    EXPECT_TRUE(store->give_to(12'345, 12'345));
    reopen({});
    EXPECT_EQ(store->give_to(54'321, 54'321).error().code, ErrorCode::Denied);
    ASSERT_TRUE(store->write(file("a"), "x"));
    reopen({});
    EXPECT_TRUE(store->give_to(12'345, 12'345)) << "whose it is already";
}

}  // namespace
}  // namespace belljar::storage
