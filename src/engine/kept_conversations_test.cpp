#include "engine/kept_conversations.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>

namespace belljar::engine {
namespace {

using execution::FileChange;
using execution::FileName;

class KeptConversationsTest : public ::testing::Test {
   protected:
    void SetUp() override {
        std::string name = ::testing::TempDir() + "kept-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        top = name;
        const Fd data(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        store = *storage::ConversationStore::open(data, {.conversations = 2});
        kept.emplace(io.get_executor(), *store, log);
    }
    void TearDown() override {
        kept.reset();
        std::filesystem::remove_all(top);
    }

    static FileName file(std::string path = "", std::string id = "talk") {
        return {.conversation_id = std::move(id), .path = std::move(path)};
    }

    // Runs everything that was started, and gives the result of this.
    template <typename Value>
    Value run(Task<Value> task) {
        std::optional<Value> result;
        asio::co_spawn(io, std::move(task), [&](const std::exception_ptr& failure, Value value) {
            ASSERT_FALSE(failure);
            result.emplace(std::move(value));
        });
        io.restart();
        while (!result) {
            io.run_one();
        }
        return std::move(*result);
    }

    Task<Result<StayPtr>> enter(Duration patience, CancellationPtr cancellation) {
        return kept->enter(file(), Clock::now() + patience, std::move(cancellation));
    }
    Result<StayPtr> enter_soon(Duration patience = std::chrono::seconds(5)) {
        return run(enter(patience, std::make_shared<Cancellation>()));
    }

    std::filesystem::path top;
    std::unique_ptr<storage::ConversationStore> store;
    asio::io_context io{1};
    Log log{"test", LogLevel::Error};
    std::optional<KeptConversations> kept;
};

TEST_F(KeptConversationsTest, WritesReadsListsAndDeletes) {
    ASSERT_TRUE(run(kept->write_file(file("a.txt"), "0123456789")));
    EXPECT_EQ(run(kept->read_file(file("a.txt"), {.offset = 2, .length = 3}))->content, "234");
    EXPECT_EQ(run(kept->list_files(file()))->size(), 1U);
    EXPECT_EQ(run(kept->list_conversations(""))->size(), 1U);
    EXPECT_EQ(run(kept->find_file(file("a.txt"), execution::Digest::Computed))->sha256.size(), 64U);
    ASSERT_TRUE(run(kept->delete_file(file("a.txt"))));
    EXPECT_EQ(run(kept->delete_file(file("a.txt"))).error().code, ErrorCode::NotFound);
    ASSERT_TRUE(run(kept->delete_conversation("", "talk")));
    EXPECT_TRUE(run(kept->list_conversations(""))->empty());
}

TEST_F(KeptConversationsTest, TellsWhoWatchesAndNobodyElse) {
    std::vector<std::string> told;
    auto watch = kept->watch([&](const FileChange& change) {
        told.push_back(std::to_string(static_cast<int>(change.kind)) + change.file.path);
    });
    ASSERT_TRUE(run(kept->write_file(file("a"), "1")));
    ASSERT_TRUE(run(kept->write_file(file("a"), "2")));
    ASSERT_FALSE(run(kept->write_file(file("../a"), "2")));
    ASSERT_TRUE(run(kept->delete_file(file("a"))));
    ASSERT_TRUE(run(kept->write_file(file("b"), "1")));
    ASSERT_TRUE(run(kept->delete_conversation("", "talk")));
    EXPECT_EQ(told, (std::vector<std::string>{"0a", "1a", "2a", "0b", "2b"}));
    watch.reset();
    ASSERT_TRUE(run(kept->write_file(file("c"), "1")));
    EXPECT_EQ(told.size(), 5U);
}

TEST_F(KeptConversationsTest, RunsComeOneAfterTheOther) {
    Result<StayPtr> first = enter_soon();
    ASSERT_TRUE(first);
    EXPECT_EQ(enter_soon(std::chrono::milliseconds(30)).error().code, ErrorCode::Conflict);
    EXPECT_EQ(run(kept->delete_conversation("", "talk")).error().code, ErrorCode::Conflict);
    std::vector<int> order;
    for (const int number : {1, 2}) {
        asio::co_spawn(io, enter(std::chrono::seconds(5), std::make_shared<Cancellation>()),
                       [&order, number](const std::exception_ptr&, Result<StayPtr> stay) {
                           EXPECT_TRUE(stay);
                           order.push_back(number);
                       });
    }
    io.poll();
    EXPECT_TRUE(order.empty());
    first->reset();
    io.restart();
    while (order.size() < 2) {
        io.run_one();
    }
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_F(KeptConversationsTest, WhoIsCancelledWaitsNoLonger) {
    const Result<StayPtr> first = enter_soon();
    auto cancellation = std::make_shared<Cancellation>();
    asio::post(io, [cancellation] { cancellation->request(); });
    EXPECT_EQ(run(enter(std::chrono::seconds(60), cancellation)).error().code,
              ErrorCode::Cancelled);
}

TEST_F(KeptConversationsTest, AnotherProcessHasItsTurnToo) {
    const auto other = store->make_conversation(file());
    Result<Fd> turn = other->take_turn();
    ASSERT_TRUE(turn);
    EXPECT_EQ(enter_soon(std::chrono::milliseconds(50)).error().code, ErrorCode::Conflict);
    turn->reset();
    EXPECT_TRUE(enter_soon());
}

TEST_F(KeptConversationsTest, WhoWaitsForALockKeepsNobodyElseWaiting) {
    const FileName locked{.principal = "ann", .conversation_id = "talk", .path = "a"};
    const auto other = store->make_conversation(locked);
    ASSERT_TRUE(other);
    auto lock = other->lock(storage::ConversationDirectory::Lock::Exclusive, Clock::now());
    ASSERT_TRUE(lock);
    constexpr int kMany = 40;
    int written = 0;
    for (int index = 0; index < kMany; ++index) {
        FileName name = locked;
        name.path = std::to_string(index);
        asio::co_spawn(
            io, kept->write_file(std::move(name), "x"),
            [&written](const std::exception_ptr&, const Result<execution::FileView>& view) {
                EXPECT_TRUE(view) << view.error().describe();
                ++written;
            });
    }
    const TimePoint begun = Clock::now();
    EXPECT_TRUE(enter_soon());
    EXPECT_TRUE(run(kept->write_file(file("b"), "of somebody else")));
    const FileName elsewhere{.principal = "ann", .conversation_id = "other", .path = "a"};
    EXPECT_TRUE(run(kept->write_file(elsewhere, "of the same")));
    EXPECT_LT(Clock::now() - begun, std::chrono::seconds(5));
    EXPECT_EQ(written, 0);
    lock->reset();
    io.restart();
    while (written < kMany) {
        io.run_one();
    }
    EXPECT_EQ(run(kept->usage("ann", "talk"))->entries, std::uint64_t{kMany});
}

TEST_F(KeptConversationsTest, ImportsNoMoreThanItsPrincipalMayHave) {
    store->set_space_of([](const std::string& principal) {
        return principal == "ann" ? std::optional(mebibytes(5)) : std::nullopt;
    });
    const auto import = [&](const std::string& principal) {
        return run(kept->import_files(
            {.where = {.principal = principal, .conversation_id = "talk"},
             .files = {{.path = "large", .content = [](const storage::ByteSink& sink) {
                            return sink(std::string(6UL * 1024 * 1024, 'x'));
                        }}}}));
    };
    const auto refused = import("ann");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::QuotaReached);
    EXPECT_EQ(run(kept->usage("ann", "talk"))->bytes, 0U);
    EXPECT_TRUE(import("bob"));
}

TEST_F(KeptConversationsTest, RefusesMoreRequestsOfOneThanMayWait) {
    constexpr int kMany = 200;
    int answered = 0;
    int refused = 0;
    for (int index = 0; index < kMany; ++index) {
        asio::co_spawn(io, kept->write_file(file("a"), "x"),
                       [&](const std::exception_ptr&, const Result<execution::FileView>& view) {
                           ++answered;
                           refused += view ? 0 : 1;
                           if (!view) {
                               EXPECT_EQ(view.error().code, ErrorCode::Overloaded);
                           }
                       });
    }
    while (answered < kMany) {
        io.run_one();
    }
    EXPECT_GT(refused, 0);
    EXPECT_LT(refused, kMany);
    EXPECT_TRUE(run(kept->write_file(file("a"), "again")));
}

TEST_F(KeptConversationsTest, AConversationTooManyIsRefusedAndBlocksNobody) {
    ASSERT_TRUE(run(kept->write_file(file("a", "one"), "1")));
    ASSERT_TRUE(run(kept->write_file(file("a", "two"), "1")));
    EXPECT_EQ(enter_soon().error().code, ErrorCode::QuotaReached);
    ASSERT_TRUE(run(kept->delete_conversation("", "two")));
    EXPECT_TRUE(enter_soon());
}

TEST_F(KeptConversationsTest, PutsMovesPagesAndRemovesTrees) {
    std::vector<std::string> told;
    const auto watch = kept->watch([&](const FileChange& change) {
        told.push_back(std::to_string(static_cast<int>(change.kind)) + change.file.path);
    });
    auto staged = run(kept->stage_file(file("d/big")));
    ASSERT_TRUE(staged);
    ASSERT_TRUE(write_all(staged->file(), "content"));
    const auto put = run(kept->put_file({.name = file("d/big"), .content = std::move(*staged)}));
    ASSERT_TRUE(put);
    EXPECT_EQ(put->file.size, 7U);
    EXPECT_EQ(run(kept->put_file({.name = file("d/big"),
                                  .content = "x",
                                  .condition = {.kind = execution::FileCondition::Kind::Absent}}))
                  .error()
                  .code,
              ErrorCode::Precondition);
    const auto moved = run(kept->move_file({.from = file("d"), .to = "e"}));
    ASSERT_TRUE(moved);
    EXPECT_TRUE(moved->directory);
    const auto opened = run(kept->open_file(file("e/big"), execution::Digest::Omitted));
    ASSERT_TRUE(opened);
    EXPECT_EQ(run(kept->page_files({.where = file()}))->files.size(), 1U);
    EXPECT_EQ(run(kept->usage("", "talk"))->bytes, 7U);
    EXPECT_EQ(run(kept->delete_tree(file("e"), {})).value_or(0), 1U);
    EXPECT_EQ(read_all(opened->file, kibibytes(1)).value_or(""), "content") << "still open";
    EXPECT_EQ(told, (std::vector<std::string>{"0d/big", "2d/big", "0e/big", "2e/big"}));
    EXPECT_EQ(run(kept->find_conversation("", "none")).error().code, ErrorCode::NotFound);
}

TEST_F(KeptConversationsTest, WhatGoesBackIntoARunIsNotMasked) {
    ASSERT_TRUE(run(kept->write_file(file("a"), "to ada@example.com")));
    kept->mask(privacy::parse_types({"email"}).value());
    EXPECT_FALSE(run(kept->read_file(file("a"), {.length = 100}))->content.contains("ada@"));
    EXPECT_EQ(run(kept->read_for_run(file("a"), {.offset = 3, .length = 4}))->content, "ada@");
    kept->guard_with({.check = [](const FileName&) { return fail(ErrorCode::Conflict, "not now"); },
                      .guarded = [] { return std::vector<FileName>(); }});
    EXPECT_FALSE(run(kept->read_for_run(file("a"), {.length = 4})));
}

TEST_F(KeptConversationsTest, WhatASessionHasIsNotCleanedUp) {
    ASSERT_TRUE(run(kept->create_conversation("", "one")));
    ASSERT_TRUE(run(kept->create_conversation("", "two")));
    kept->spare([] { return std::vector<FileName>{file("", "two")}; });
    const auto report = run(kept->cleanup(
        {.mode = execution::CleanupOrder::Mode::Remove, .idle = std::chrono::seconds(0)}));
    ASSERT_TRUE(report);
    EXPECT_EQ(report->removals.size(), 1U);
    EXPECT_EQ(report->in_use, 1U);
    EXPECT_EQ(run(kept->list_conversations(""))->size(), 1U);
}

}  // namespace
}  // namespace belljar::engine
