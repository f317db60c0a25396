#include "engine/admission.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <vector>

namespace belljar::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// One caller: what it was told, and the ticket as long as it keeps it.
struct Caller {
    CancellationPtr cancellation = std::make_shared<Cancellation>();
    std::optional<Result<Admission::Ticket>> answer;

    [[nodiscard]] bool waits() const { return !answer; }
    [[nodiscard]] bool runs() const { return answer && *answer; }
    [[nodiscard]] ErrorCode code() const { return answer->error().code; }
    [[nodiscard]] std::string message() const { return answer->error().message; }
    void leave() { answer.reset(); }
};

Task<void> wait_for_answer(Admission* admission, Caller* caller, TimePoint deadline) {
    Result<Admission::Ticket> answer = co_await admission->enter(deadline, caller->cancellation);
    caller->answer.emplace(std::move(answer));
}

class AdmissionTest : public testing::Test {
   protected:
    std::unique_ptr<Caller> enter(Duration patience = seconds(60)) {
        auto caller = std::make_unique<Caller>();
        enter_as(*caller, patience);
        return caller;
    }

    void enter_as(Caller& caller, Duration patience) {
        asio::co_spawn(context, wait_for_answer(&admission, &caller, Clock::now() + patience),
                       [](const std::exception_ptr& failure) { EXPECT_FALSE(failure); });
        settle();
    }

    // Everything that can happen now has happened.
    void settle() {
        context.restart();
        context.poll();
    }

    asio::io_context context;
    Admission admission{context.get_executor(), {.running = 2, .waiting = 3}};
};

TEST_F(AdmissionTest, AdmitsUpToTheBoundAtOnce) {
    const auto first = enter();
    const auto second = enter();
    const auto third = enter();
    EXPECT_TRUE(first->runs());
    EXPECT_TRUE(second->runs());
    EXPECT_TRUE(third->waits());
    EXPECT_EQ(admission.running(), 2U);
    third->cancellation->request();
    settle();
}

TEST_F(AdmissionTest, AdmitsInTheOrderOfArrival) {
    const auto first = enter();
    const auto second = enter();
    std::vector<std::unique_ptr<Caller>> waiting;
    for (int index = 0; index < 3; ++index) {
        waiting.push_back(enter());
    }
    first->leave();
    settle();
    EXPECT_TRUE(waiting[0]->runs());
    EXPECT_TRUE(waiting[1]->waits());
    second->leave();
    settle();
    EXPECT_TRUE(waiting[1]->runs());
    EXPECT_TRUE(waiting[2]->waits());
    waiting[0]->leave();
    settle();
    EXPECT_TRUE(waiting[2]->runs());
    EXPECT_EQ(admission.running(), 2U);
    waiting.clear();
    EXPECT_EQ(admission.running(), 0U);
}

TEST_F(AdmissionTest, NobodyOvertakesTheQueue) {
    const auto first = enter();
    const auto second = enter();
    const auto third = enter();
    first->leave();  // the place is already the third's, though it has not heard of it
    auto late = std::make_unique<Caller>();
    enter_as(*late, seconds(60));
    EXPECT_TRUE(third->runs());
    EXPECT_TRUE(late->waits());
    late->cancellation->request();
    settle();
}

TEST_F(AdmissionTest, RefusesWhenTheQueueIsFull) {
    std::vector<std::unique_ptr<Caller>> callers;
    for (int index = 0; index < 5; ++index) {
        callers.push_back(enter());
    }
    const auto sixth = enter();
    ASSERT_FALSE(sixth->waits());
    EXPECT_EQ(sixth->code(), ErrorCode::Overloaded);
    callers[3]->cancellation->request();
    settle();
    const auto seventh = enter();
    EXPECT_TRUE(seventh->waits()) << "a place in the queue is free again";
    for (const auto& caller : callers) {
        caller->cancellation->request();
    }
    seventh->cancellation->request();
    settle();
}

TEST_F(AdmissionTest, RefusesAtTheDeadline) {
    const auto first = enter();
    const auto second = enter();
    const auto third = enter(milliseconds(10));
    context.restart();
    context.run();
    ASSERT_FALSE(third->waits());
    EXPECT_EQ(third->code(), ErrorCode::Overloaded);
    first->leave();
    second->leave();
    EXPECT_EQ(admission.running(), 0U) << "no place went to somebody who has left";
}

TEST_F(AdmissionTest, ADeadlineInThePastStillAdmitsWhenAPlaceIsFree) {
    EXPECT_TRUE(enter(seconds(-1))->runs());
}

TEST_F(AdmissionTest, CancelsWhileWaiting) {
    const auto first = enter();
    const auto second = enter();
    const auto third = enter();
    const auto fourth = enter();
    third->cancellation->request();
    settle();
    ASSERT_FALSE(third->waits());
    EXPECT_EQ(third->code(), ErrorCode::Cancelled);
    first->leave();
    settle();
    EXPECT_TRUE(fourth->runs()) << "the place went past the one that was cancelled";
}

TEST_F(AdmissionTest, DoesNotStartWhatIsCancelledAlready) {
    Caller caller;
    caller.cancellation->request();
    enter_as(caller, seconds(60));
    ASSERT_FALSE(caller.waits());
    EXPECT_EQ(caller.code(), ErrorCode::Cancelled);
    EXPECT_EQ(admission.running(), 0U);
}

TEST_F(AdmissionTest, APlaceGivenInTheMomentOfACancelIsNotLost) {
    const auto first = enter();
    const auto second = enter();
    const auto third = enter();
    first->leave();
    third->cancellation->request();
    settle();
    ASSERT_FALSE(third->waits());
    third->leave();
    second->leave();
    settle();
    EXPECT_EQ(admission.running(), 0U);
    EXPECT_TRUE(enter()->runs());
}

TEST_F(AdmissionTest, LeavesNoHandlerBehind) {
    const auto first = enter();
    const auto second = enter();
    const auto third = enter();
    first->leave();
    settle();
    ASSERT_TRUE(third->runs());
    int calls = 0;
    third->cancellation->on_request([&] { ++calls; });
    third->cancellation->request();
    EXPECT_EQ(calls, 1);
}

TEST_F(AdmissionTest, AMovedTicketIsGivenBackOnce) {
    const auto first = enter();
    ASSERT_TRUE(first->runs());
    {
        const Admission::Ticket moved = std::move(**first->answer);
        first->leave();
        EXPECT_EQ(admission.running(), 1U);
    }
    EXPECT_EQ(admission.running(), 0U);
}

}  // namespace
}  // namespace belljar::engine
