#include "engine/file_queue.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>
#include <vector>

namespace belljar::engine {
namespace {

using Kind = FileQueue::Kind;
using Entered = std::optional<Result<FileQueue::PlacePtr>>;

class FileQueueTest : public ::testing::Test {
   protected:
    // What became of it is there when it has entered, or is refused.
    std::shared_ptr<Entered> enter(const std::string& principal, Kind kind,
                                   const std::string& conversation = "talk",
                                   Duration patience = std::chrono::hours(1)) {
        auto entered = std::make_shared<Entered>();
        asio::co_spawn(io,
                       queue->enter({.principal = principal, .conversation_id = conversation}, kind,
                                    Clock::now() + patience),
                       [entered](const std::exception_ptr&, Result<FileQueue::PlacePtr> place) {
                           entered->emplace(std::move(place));
                       });
        go_on();
        return entered;
    }
    void leave(const std::shared_ptr<Entered>& entered) {
        entered->reset();
        go_on();
    }
    void go_on() {
        io.restart();
        io.poll();
    }
    static bool is_in(const std::shared_ptr<Entered>& entered) {
        return entered->has_value() && entered->value().has_value();
    }
    static ErrorCode refusal(const std::shared_ptr<Entered>& entered) {
        return entered->has_value() && !entered->value() ? entered->value().error().code
                                                         : ErrorCode::Internal;
    }

    asio::io_context io{1};
    std::shared_ptr<FileQueue> queue = std::make_shared<FileQueue>(
        io.get_executor(), FileQueue::Bounds{.served = 2, .of_principal = 3, .all = 5});
};

TEST_F(FileQueueTest, AFewOfOneAreServedAndNobodyElseWaitsForThem) {
    const auto first = enter("ann", Kind::Look);
    const auto second = enter("ann", Kind::Look);
    const auto third = enter("ann", Kind::Look);
    EXPECT_TRUE(is_in(first) && is_in(second));
    EXPECT_FALSE(third->has_value());
    EXPECT_TRUE(is_in(enter("bob", Kind::Look)));
    leave(first);
    EXPECT_TRUE(is_in(third));
}

TEST_F(FileQueueTest, AConversationIsChangedByOneAfterTheOther) {
    const auto first = enter("ann", Kind::Change);
    const auto second = enter("ann", Kind::Change);
    const auto run = enter("ann", Kind::Transfer);
    EXPECT_TRUE(is_in(first));
    EXPECT_FALSE(second->has_value() || run->has_value());
    EXPECT_TRUE(is_in(enter("ann", Kind::Look)));
    EXPECT_TRUE(is_in(enter("ann", Kind::Transfer, "other")));
    EXPECT_TRUE(is_in(enter("bob", Kind::Change)));
    leave(first);
    EXPECT_TRUE(is_in(second));
    EXPECT_FALSE(run->has_value());
    leave(second);
    EXPECT_TRUE(is_in(run));
}

TEST_F(FileQueueTest, WhatIsTooMuchIsRefusedAtOnce) {
    std::vector<std::shared_ptr<Entered>> held;
    for (const char* principal : {"ann", "ann", "ann", "bob", "bob"}) {
        held.push_back(enter(principal, Kind::Look));
        EXPECT_NE(refusal(held.back()), ErrorCode::Overloaded);
    }
    EXPECT_EQ(refusal(enter("ann", Kind::Look)), ErrorCode::Overloaded);
    EXPECT_EQ(refusal(enter("eve", Kind::Look)), ErrorCode::Overloaded) << "of everybody";
    EXPECT_TRUE(is_in(enter("ann", Kind::Transfer))) << "runs are bounded elsewhere";
    leave(held.back());
    EXPECT_TRUE(is_in(enter("eve", Kind::Look)));
}

TEST_F(FileQueueTest, AWaitHasAnEnd) {
    const auto first = enter("ann", Kind::Change);
    const auto second = enter("ann", Kind::Change, "talk", Duration::zero());
    io.restart();
    while (!second->has_value()) {
        io.run_one();
    }
    EXPECT_EQ(refusal(second), ErrorCode::Conflict);
    leave(first);
    EXPECT_TRUE(is_in(enter("ann", Kind::Change)));
}

TEST_F(FileQueueTest, MayEndBeforeThoseThatWait) {
    const auto first = enter("ann", Kind::Change);
    const auto second = enter("ann", Kind::Change);
    queue.reset();
    leave(first);
    EXPECT_TRUE(is_in(second));
}

}  // namespace
}  // namespace belljar::engine
