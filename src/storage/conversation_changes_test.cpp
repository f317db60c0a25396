#include "storage/conversation_changes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "crypto/digest.h"
#include "storage/conversation_store.h"

namespace belljar::storage {
namespace {

using execution::CleanupOrder;
using execution::Digest;
using execution::Existing;
using execution::FileChange;
using execution::FileCondition;
using execution::FileName;

class ConversationChangesTest : public ::testing::Test {
   protected:
    void SetUp() override {
        std::string name = ::testing::TempDir() + "changes-XXXXXX";
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
    [[nodiscard]] std::filesystem::path place_of(const FileName& name) const {
        return top / "conversations" / crypto::sha256_hex(name.principal) /
               crypto::sha256_hex(name.conversation_id);
    }
    Result<ConversationStore::Written> put(const FileName& name, std::string_view content,
                                           FileCondition condition = {}) const {
        BJ_TRY(StagedFile staged, store->stage(name));
        if (!content.empty()) {
            BJ_TRY_VOID(write_all(staged.file(), content));
        }
        return store->put({.name = name, .condition = std::move(condition)}, std::move(staged));
    }

    std::filesystem::path top;
    std::unique_ptr<ConversationStore> store;
};

template <typename T>
ErrorCode code_of(const Result<T>& result) {
    return result ? ErrorCode::Internal : result.error().code;
}

TEST_F(ConversationChangesTest, AWriterThatKnowsAnOlderFileChangesNothing) {
    const auto first = put(file("a"), "one");
    ASSERT_TRUE(first);
    ASSERT_FALSE(first->file.revision.empty());
    const FileCondition absent{.kind = FileCondition::Kind::Absent};
    EXPECT_EQ(code_of(put(file("a"), "x", absent)), ErrorCode::Precondition);
    EXPECT_TRUE(put(file("b"), "x", absent));
    const FileCondition known{FileCondition::Kind::Matches, first->file.revision};
    const auto second = put(file("a"), "two", known);
    ASSERT_TRUE(second) << second.error().describe();
    EXPECT_NE(second->file.revision, first->file.revision);
    EXPECT_EQ(code_of(put(file("a"), "three", known)), ErrorCode::Precondition);
    const FileCondition by_content{FileCondition::Kind::Matches, crypto::sha256_hex("two")};
    EXPECT_TRUE(put(file("a"), "three", by_content));
    EXPECT_EQ(code_of(store->remove_tree(file("a"), by_content)), ErrorCode::Precondition);
    EXPECT_EQ(content_of(file("a")), "three");
    EXPECT_EQ(code_of(put(file("new"), "x", {.kind = FileCondition::Kind::Present})),
              ErrorCode::Precondition);
}

TEST_F(ConversationChangesTest, OneOfTwoWritersWhoKnowTheSameFileFails) {
    const auto before = put(file("a"), "0");
    std::atomic<int> won = 0;
    std::vector<std::thread> threads;
    for (int writer = 1; writer <= 4; ++writer) {
        threads.emplace_back([&, writer] {
            const FileCondition known{FileCondition::Kind::Matches, before->file.revision};
            won += put(file("a"), std::to_string(writer), known) ? 1 : 0;
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(won, 1);
}

TEST_F(ConversationChangesTest, WritersOfManyConversationsStayWithinThePrincipalsSpace) {
    reopen({.each = {.principal_space = Bytes{1000}, .principal_entries = 1000}});
    std::atomic<int> kept = 0;
    std::vector<std::thread> threads;
    for (int writer = 0; writer < 6; ++writer) {
        threads.emplace_back([&, writer] {
            for (int index = 0; index < 5; ++index) {
                const FileName name = file(std::to_string(index), "talk" + std::to_string(writer));
                kept += put(name, std::string(99, 'x')) ? 1 : 0;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(kept, 10);
    const auto usage = store->usage({});
    ASSERT_TRUE(usage);
    EXPECT_EQ(usage->bytes, 990U);
    EXPECT_EQ(usage->most_bytes, 1000U);
    EXPECT_TRUE(put(file("other", "t", "bob"), std::string(900, 'y'))) << "another principal";
    EXPECT_EQ(code_of(put(file("0", "talk0"), std::string(500, 'x'))), ErrorCode::QuotaReached);
    EXPECT_TRUE(put(file("0", "talk0"), "")) << "less is always possible";
}

TEST_F(ConversationChangesTest, WhatARunLeavesCountsForThePrincipal) {
    ConversationBounds bounds{.principal_space = Bytes{100}};
    reopen({.each = bounds});
    ASSERT_TRUE(put(file("a", "first"), std::string(60, 'x')));
    const Result<ConversationDirectory> second = store->make_conversation(file("", "second"));
    auto changes = ConversationChanges::begin(*second, bounds, Clock::now());
    ASSERT_TRUE(changes);
    ASSERT_TRUE(changes->begin_file({.path = "small"}));
    ASSERT_TRUE(changes->append(std::string(30, 'y')));
    ASSERT_TRUE(changes->end_file());
    // Meanwhile, somebody else writes.
    ASSERT_TRUE(put(file("b", "first"), std::string(35, 'x')));
    const auto done = changes->finish();
    ASSERT_TRUE(done);
    EXPECT_TRUE(done->empty());
    EXPECT_EQ(changes->refused(), std::vector<std::string>{"small"});
    EXPECT_TRUE(std::filesystem::is_empty(place_of(file("", "second")) / "incoming"));
    EXPECT_EQ(store->usage({})->bytes, 95U);
}

// Recovery after a crash goes on while the first runs end.
TEST_F(ConversationChangesTest, RecoveryLeavesAloneWhatIsComingIn) {
    ASSERT_TRUE(put(file("a"), "old"));
    const Result<ConversationDirectory> talk = store->make_conversation(file(""));
    std::atomic<bool> done = false;
    std::thread recovery([&] {
        while (!done) {
            store->recover();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));  // others want the lock, too
        }
    });
    for (int round = 0; round < 50; ++round) {
        const std::string content = std::to_string(round);
        auto changes =
            ConversationChanges::begin(*talk, {}, Clock::now() + std::chrono::seconds(10));
        EXPECT_TRUE(changes && changes->begin_file({.path = "a"}) && changes->append(content) &&
                    changes->end_file() && changes->finish());
        EXPECT_EQ(content_of(file("a")), content);
    }
    done = true;
    recovery.join();
}

TEST_F(ConversationChangesTest, WhatCannotBePutInItsPlaceIsNotAcknowledged) {
    ASSERT_TRUE(put(file("a"), "old"));
    const Result<ConversationDirectory> talk = store->make_conversation(file(""));
    auto changes = ConversationChanges::begin(*talk, {}, Clock::now());
    ASSERT_TRUE(changes);
    ASSERT_TRUE(changes->make_directory("new"));
    ASSERT_TRUE(changes->begin_file({.path = "a"}));
    ASSERT_TRUE(changes->append("new"));
    ASSERT_TRUE(changes->end_file());
    // Somebody puts a directory in its way.
    std::filesystem::remove(place_of(file("")) / "files" / "a");
    std::filesystem::create_directories(place_of(file("")) / "files" / "a" / "b");
    EXPECT_FALSE(changes->finish());
    EXPECT_EQ(changes->refused(), std::vector<std::string>{"a"});
    EXPECT_TRUE(std::filesystem::is_empty(place_of(file("")) / "incoming"));
}

TEST_F(ConversationChangesTest, CountsAgainWhereACrashLeftNoTally) {
    ASSERT_TRUE(put(file("d/a"), "12345"));
    std::filesystem::resize_file(place_of(file("")) / "tally", 0);
    EXPECT_EQ(store->usage({})->bytes, 5U);
    EXPECT_EQ(store->usage({})->entries, 2U);
    std::ofstream(place_of(file("")) / "tally") << "12";
    EXPECT_EQ(store->usage({})->bytes, 5U);
    EXPECT_EQ(store->usage(file(""))->entries, 2U);
}

TEST_F(ConversationChangesTest, MovesFilesAndDirectories) {
    ASSERT_TRUE(put(file("a/b/c"), "1"));
    ASSERT_TRUE(put(file("x"), "2"));
    const auto done = store->move({.from = file("a/b"), .to = "new/place"});
    ASSERT_TRUE(done) << done.error().describe();
    EXPECT_EQ(content_of(file("new/place/c")), "1");
    EXPECT_EQ(done->size(), 2U);
    EXPECT_EQ(code_of(store->move({.from = file("x"), .to = "new/place/c"})), ErrorCode::Conflict);
    EXPECT_EQ(code_of(store->move({.from = file("new"), .to = "new/below"})),
              ErrorCode::InvalidArgument);
    EXPECT_EQ(code_of(store->move({.from = file("none"), .to = "y"})), ErrorCode::NotFound);
    EXPECT_EQ(code_of(store->move({.from = file("x"), .to = "../y"})), ErrorCode::InvalidArgument);
    EXPECT_EQ(code_of(store->move(
                  {.from = file("x"), .to = "new/place", .existing = Existing::Replaced})),
              ErrorCode::Conflict);
    EXPECT_EQ(code_of(store->move({.from = file("new"), .to = "x/y"})), ErrorCode::InvalidArgument);
    ASSERT_TRUE(
        store->move({.from = file("x"), .to = "new/place/c", .existing = Existing::Replaced}));
    EXPECT_EQ(content_of(file("new/place/c")), "2");
    EXPECT_EQ(store->files(file(""))->size(), 1U);
    EXPECT_EQ(store->usage({})->bytes, 1U);
}

TEST_F(ConversationChangesTest, RemovesATree) {
    ASSERT_TRUE(put(file("a/b/c"), "1"));
    ASSERT_TRUE(put(file("a/d"), "2"));
    ASSERT_TRUE(put(file("ab"), "3"));
    const auto gone = store->remove_tree(file("a"), {});
    ASSERT_TRUE(gone);
    EXPECT_EQ(gone->size(), 2U);
    EXPECT_EQ(store->files(file(""))->size(), 1U);
    EXPECT_EQ(code_of(store->remove_tree(file("a"), {})), ErrorCode::NotFound);
    EXPECT_TRUE(std::filesystem::is_empty(place_of(file("")) / "incoming"));
    EXPECT_EQ(store->usage({})->entries, 1U);
}

TEST_F(ConversationChangesTest, ListsInPages) {
    for (const char* path : {"a", "d/1", "d/2", "d/e/3", "z"}) {
        ASSERT_TRUE(put(file(path), "x"));
    }
    execution::FileQuery query{.where = file(""), .page = {.limit = 2}};
    std::string seen;
    do {
        const auto page = store->page_files(query);
        ASSERT_TRUE(page);
        for (const execution::FileView& view : page->files) {
            seen += view.path + " ";
        }
        query.page.after = page->next;
    } while (!query.page.after.empty());
    EXPECT_EQ(seen, "a d/1 d/2 d/e/3 z ");
    const auto near = store->page_files({.where = file("d"),
                                         .show = execution::Show::FilesAndDirectories,
                                         .depth = execution::Depth::Directory});
    ASSERT_EQ(near->files.size(), 3U);
    EXPECT_TRUE(near->files[2].directory);
}

TEST_F(ConversationChangesTest, PagesConversationsOfOneAndOfAll) {
    ASSERT_TRUE(store->create(file("", "one", "ann"))->created);
    ASSERT_TRUE(store->create(file("", "two", "ann")));
    ASSERT_TRUE(store->create(file("", "three", "bob")));
    EXPECT_FALSE(store->create(file("", "one", "ann"))->created);
    EXPECT_EQ(store->page("ann", {})->conversations.size(), 2U);
    const auto first = store->page(std::nullopt, {.limit = 2});
    ASSERT_EQ(first->conversations.size(), 2U);
    ASSERT_FALSE(first->next.empty());
    const auto second = store->page(std::nullopt, {.after = first->next});
    EXPECT_EQ(second->conversations.size(), 1U);
    EXPECT_EQ(second->next, "");
    EXPECT_EQ(store->usage(file("", "", "ann"))->conversations, 2U);
    EXPECT_GT(store->find_conversation(file("", "one", "ann"))->created, execution::WallTime{});
}

TEST_F(ConversationChangesTest, CleansUpWhatIsUnusedAndLeavesWhatIsInUse) {
    ASSERT_TRUE(put(file("a", "old"), "12345"));
    ASSERT_TRUE(put(file("a", "used"), "12345"));
    ASSERT_TRUE(put(file("a", "new"), "123"));
    for (const char* id : {"old", "used"}) {
        const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(9);
        for (const char* name : {"about.json", "used", "files"}) {
            std::filesystem::last_write_time(place_of(file("", id)) / name, long_ago);
        }
    }
    const Result<ConversationDirectory> held = store->open_conversation(file("", "used"));
    const Result<Fd> turn = held->take_turn();
    ASSERT_TRUE(turn);
    CleanupOrder order{.idle = std::chrono::hours(8)};
    auto report = store->clean_up(order);
    ASSERT_TRUE(report);
    ASSERT_EQ(report->removals.size(), 1U);
    EXPECT_EQ(report->removals[0].conversation.conversation_id, "old");
    EXPECT_EQ(report->removals[0].reason, execution::CleanupReport::Reason::Idle);
    EXPECT_EQ(report->bytes, 5U);
    EXPECT_EQ(report->in_use, 1U);
    EXPECT_EQ(content_of(file("a", "old")), "12345") << "only asked";
}

TEST_F(ConversationChangesTest, CleansUpTheLongestUnusedUntilThereIsSpace) {
    for (const char* id : {"1", "2", "3"}) {
        ASSERT_TRUE(put(file("a", id), "12345"));
        const auto ago =
            std::filesystem::file_time_type::clock::now() - std::chrono::hours(4 - std::stoi(id));
        for (const char* name : {"about.json", "used", "files"}) {
            std::filesystem::last_write_time(place_of(file("", id)) / name, ago);
        }
    }
    const auto report = store->clean_up({.mode = CleanupOrder::Mode::Remove, .total_bytes = 9});
    ASSERT_EQ(report->removals.size(), 2U);
    EXPECT_EQ(report->removals[0].conversation.conversation_id, "1");
    EXPECT_EQ(store->list("")->size(), 1U);
    EXPECT_EQ(store->usage({})->bytes, 5U);
    EXPECT_TRUE(
        store->clean_up({.mode = CleanupOrder::Mode::Remove, .age = std::chrono::minutes(30)})
            ->removals.size() == 1);
}

TEST_F(ConversationChangesTest, AStagedFileOutlivesOtherWritersAndNotItsOwner) {
    auto staged = store->stage(file("big"));
    ASSERT_TRUE(staged);
    ASSERT_TRUE(write_all(staged->file(), "content"));
    ASSERT_TRUE(put(file("other"), "x"));
    store->recover();
    EXPECT_TRUE(store->put({.name = file("big")}, std::move(*staged)));
    EXPECT_EQ(content_of(file("big")), "content");
    {
        const auto dropped = store->stage(file("never"));
    }
    EXPECT_TRUE(std::filesystem::is_empty(place_of(file("")) / "incoming"));
    std::ofstream(place_of(file("")) / "incoming" / "left") << "by a crash";
    std::filesystem::create_directories(place_of(file("")).parent_path() / "unfinished-x" / "y");
    store->recover();
    EXPECT_TRUE(std::filesystem::is_empty(place_of(file("")) / "incoming"));
    EXPECT_FALSE(std::filesystem::exists(place_of(file("")).parent_path() / "unfinished-x"));
}

TEST_F(ConversationChangesTest, CopiesAFileFromItsBeginning) {
    const std::filesystem::path source = top / "source";
    std::ofstream(source) << std::string(3'000'000, 'z');
    const Fd content(::open(source.c_str(), O_RDONLY | O_CLOEXEC));
    ::lseek(content.get(), 100, SEEK_SET);
    auto staged = store->stage_copy(file("copy"), content);
    ASSERT_TRUE(staged);
    const auto written = store->put({.name = file("copy")}, std::move(*staged));
    ASSERT_TRUE(written);
    EXPECT_EQ(written->file.size, 3'000'000U);
    EXPECT_EQ(written->file.sha256, crypto::sha256_hex(std::string(3'000'000, 'z')));
    const auto opened = store->open_file(file("copy"), Digest::Computed);
    ASSERT_TRUE(put(file("copy"), "replaced"));
    EXPECT_EQ(digest_of(opened->file).value_or(""), written->file.sha256) << "open as it was";
}

// In a process of its own, which has the small disk to itself.
int fill_a_small_disk(const std::filesystem::path& place) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", place.c_str(), "tmpfs", 0, "size=1m") != 0) {
        return 77;
    }
    const Fd data(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto store = ConversationStore::open(data, {});
    const FileName name{.conversation_id = "talk", .path = "a"};
    if (!store || !(*store)->write(name, "old")) {
        return 1;
    }
    const auto full = (*store)->write(name, std::string(2'000'000, 'x'));
    if (full || full.error().code != ErrorCode::StorageFull) {
        return 2;
    }
    const auto part = (*store)->read(name, 0, 100);
    if (!part || part->content != "old" || (*store)->files(name)->size() != 1) {
        return 3;
    }
    const auto directory = (*store)->open_conversation(name);
    if (!std::filesystem::is_empty(place / "conversations" / crypto::sha256_hex("") /
                                   crypto::sha256_hex("talk") / "incoming")) {
        return 4;
    }
    return (*store)->write(name, "new") ? 0 : 5;
}

TEST_F(ConversationChangesTest, ADiskThatIsFullLeavesTheOldFileAndNothingElse) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can mount a small disk";
    }
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(fill_a_small_disk(top));
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace belljar::storage
