#include "base/task_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <stdexcept>

#include "base/result.h"

namespace belljar {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Task<void> count(int* done) {
    ++*done;
    co_return;
}

Task<void> rest(asio::steady_timer* timer, int* done) {
    boost::system::error_code ignored;
    co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    ++*done;
}

Task<void> throw_standard() {
    throw std::runtime_error("broken \"thing\"");
    co_return;
}

Task<void> throw_other() {
    throw 7;
    co_return;
}

class TaskGroupTest : public testing::Test {
   protected:
    std::future<void> start_waiting(asio::steady_timer::duration limit) {
        return asio::co_spawn(context, group.wait(asio::steady_timer::clock_type::now() + limit),
                              asio::use_future);
    }

    asio::io_context context;
    Log log{"test", LogLevel::Error};
    TaskGroup group{context.get_executor(), log};
    asio::steady_timer never{context, asio::steady_timer::time_point::max()};
    int done = 0;
};

TEST_F(TaskGroupTest, RunsWhatIsSpawned) {
    EXPECT_TRUE(group.spawn("one", count(&done)));
    EXPECT_TRUE(group.spawn("two", count(&done)));
    EXPECT_EQ(group.running(), 2U);
    context.run();
    EXPECT_EQ(done, 2);
    EXPECT_EQ(group.running(), 0U);
}

TEST_F(TaskGroupTest, TakesNothingNewWhileClosing) {
    EXPECT_TRUE(group.spawn("one", count(&done)));
    group.close();
    EXPECT_FALSE(group.spawn("two", count(&done)));
    EXPECT_EQ(group.running(), 1U);
    context.run();
    EXPECT_EQ(done, 1);
}

TEST_F(TaskGroupTest, WaitReturnsAtOnceIfNothingRuns) {
    std::future<void> waited = start_waiting(seconds(60));
    context.run();
    EXPECT_EQ(waited.wait_for(seconds(0)), std::future_status::ready);
}

TEST_F(TaskGroupTest, WaitReturnsWhenTheLastTaskEnds) {
    asio::steady_timer soon(context, milliseconds(20));
    group.spawn("first", rest(&soon, &done));
    group.spawn("second", count(&done));
    group.close();
    std::future<void> waited = start_waiting(seconds(60));
    const auto begin = std::chrono::steady_clock::now();
    context.run();
    EXPECT_EQ(done, 2);
    EXPECT_EQ(waited.wait_for(seconds(0)), std::future_status::ready);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(30));
}

TEST_F(TaskGroupTest, WaitGivesUpAtItsDeadline) {
    group.spawn("stuck", rest(&never, &done));
    std::future<void> waited = start_waiting(milliseconds(10));
    while (waited.wait_for(seconds(0)) != std::future_status::ready) {
        context.run_one();
    }
    EXPECT_EQ(group.running(), 1U);
    EXPECT_EQ(done, 0);
    never.cancel();
    context.run();
    EXPECT_EQ(group.running(), 0U);
}

TEST_F(TaskGroupTest, LogsWhatATaskThrows) {
    testing::internal::CaptureStderr();
    group.spawn("first", throw_standard());
    group.spawn("second", throw_other());
    group.spawn("third", count(&done));
    context.run();
    const std::string written = testing::internal::GetCapturedStderr();
    EXPECT_NE(written.find(R"("task":"first","reason":"broken \"thing\"")"), std::string::npos)
        << written;
    EXPECT_NE(written.find(R"("task":"second","reason":"unknown")"), std::string::npos) << written;
    EXPECT_EQ(std::ranges::count(written, '\n'), 2);
    EXPECT_EQ(group.running(), 0U);
    EXPECT_EQ(done, 1);
}

TEST_F(TaskGroupTest, ATaskThatThrowsEndsTheWaitToo) {
    testing::internal::CaptureStderr();
    group.spawn("first", throw_standard());
    std::future<void> waited = start_waiting(seconds(60));
    context.run();
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(waited.wait_for(seconds(0)), std::future_status::ready);
}

Task<Result<int>> answer(Result<int> given) {
    BJ_CO_TRY(const int value, given);
    co_return value + 1;
}

Task<Result<void>> check(Result<int> given) {
    BJ_CO_TRY_VOID(given);
    co_return Result<void>{};
}

TEST_F(TaskGroupTest, CoTryWorksInACoroutine) {
    const Result<int> refused = fail(ErrorCode::Denied, "no");
    std::future<Result<int>> good = asio::co_spawn(context, answer(1), asio::use_future);
    std::future<Result<int>> bad = asio::co_spawn(context, answer(refused), asio::use_future);
    std::future<Result<void>> checked = asio::co_spawn(context, check(refused), asio::use_future);
    context.run();
    EXPECT_EQ(good.get().value(), 2);
    EXPECT_EQ(bad.get().error().message, "no");
    EXPECT_EQ(checked.get().error().code, ErrorCode::Denied);
}

}  // namespace
}  // namespace belljar
