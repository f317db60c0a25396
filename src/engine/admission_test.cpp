#include "engine/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

namespace belljar::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// One caller: what it was told, and the ticket as long as it keeps it.
struct Caller {
    std::string principal{};
    CancellationPtr cancellation = std::make_shared<Cancellation>();
    std::optional<Result<Admission::Ticket>> answer{};

    [[nodiscard]] bool waits() const { return !answer; }
    [[nodiscard]] bool runs() const { return answer && *answer; }
    [[nodiscard]] ErrorCode code() const { return answer->error().code; }
    [[nodiscard]] const Error& error() const { return answer->error(); }
    void leave() { answer.reset(); }
};

Task<void> wait_for_answer(Admission* admission, Caller* caller, TimePoint deadline) {
    Result<Admission::Ticket> answer =
        co_await admission->enter(caller->principal, deadline, caller->cancellation);
    caller->answer.emplace(std::move(answer));
}

using CallerPtr = std::unique_ptr<Caller>;

class AdmissionTest : public testing::Test {
   protected:
    explicit AdmissionTest(Admission::Bounds bounds = {.running = 2, .waiting = 3})
        : admission(context.get_executor(), bounds) {}

    CallerPtr enter_for(std::string principal, Duration patience = seconds(60)) {
        auto caller = std::make_unique<Caller>(Caller{.principal = std::move(principal)});
        enter_as(*caller, patience);
        return caller;
    }

    // One caller for each letter, which is its principal.
    std::vector<CallerPtr> enter_all(std::string_view principals) {
        std::vector<CallerPtr> callers;
        for (const char letter : principals) {
            callers.push_back(enter_for(std::string(1, letter)));
        }
        return callers;
    }

    void cancel_all(const std::vector<CallerPtr>& callers) {
        for (const CallerPtr& caller : callers) {
            caller->cancellation->request();
        }
        settle();
    }

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
    Admission admission;
};

TEST_F(AdmissionTest, AdmitsUpToTheBoundAtOnce) {
    const auto first = enter();
    const auto second = enter();
    const auto third = enter();
    EXPECT_TRUE(first->runs());
    EXPECT_TRUE(second->runs());
    EXPECT_TRUE(third->waits());
    EXPECT_EQ(admission.figures().running, 2U);
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
    EXPECT_EQ(admission.figures().running, 2U);
    waiting.clear();
    EXPECT_EQ(admission.figures().running, 0U);
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
    EXPECT_EQ(admission.figures().running, 0U) << "no place went to somebody who has left";
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
    EXPECT_EQ(admission.figures().running, 0U);
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
    EXPECT_EQ(admission.figures().running, 0U);
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

TEST_F(AdmissionTest, ACancelledOneLeavesTheQueueAtOnce) {
    const std::vector<CallerPtr> callers = enter_all("aaaaa");
    EXPECT_EQ(admission.figures().waiting, 3U);
    callers[3]->cancellation->request();
    callers[2]->cancellation->request();
    EXPECT_EQ(admission.figures().waiting, 1U) << "before anybody has been told";
    callers[0]->leave();
    settle();
    EXPECT_TRUE(callers[4]->runs()) << "no place went to those who had left";
}

TEST_F(AdmissionTest, ARefusalSaysWhenToTryAgain) {
    const std::vector<CallerPtr> callers = enter_all("aaaaaa");
    const Error error = callers[5]->error();
    EXPECT_GE(error.retry_after, seconds(1));
    EXPECT_LE(error.retry_after, seconds(60));
    const std::string hint = std::to_string(error.retry_after.count());
    EXPECT_TRUE(error.message.ends_with("; try again in " + hint + " s")) << error.message;
    cancel_all(callers);
}

TEST_F(AdmissionTest, CountsWaitsAndRefusals) {
    const std::vector<CallerPtr> running = enter_all("aa");
    const CallerPtr late = enter(seconds(-1));  // its deadline has passed already
    const std::vector<CallerPtr> waiting = enter_all("aaa");
    const CallerPtr refused = enter();
    EXPECT_EQ(late->code(), ErrorCode::Overloaded);
    EXPECT_EQ(refused->code(), ErrorCode::Overloaded);
    running[0]->leave();
    settle();
    EXPECT_TRUE(waiting[0]->runs());
    const Admission::Figures& figures = admission.figures();
    EXPECT_EQ(figures.refused.at("queue_time"), 1U);
    EXPECT_EQ(figures.refused.at("queue_full"), 1U);
    EXPECT_FALSE(figures.refused.contains("share_full"));
    EXPECT_EQ(std::accumulate(figures.waits.classes.begin(), figures.waits.classes.end(),
                              std::uint64_t{0}),
              3U);
    EXPECT_GT(figures.waits.sum, Duration{});
    cancel_all(waiting);
}

TEST_F(AdmissionTest, AMovedTicketIsGivenBackOnce) {
    const auto first = enter();
    ASSERT_TRUE(first->runs());
    {
        const Admission::Ticket moved = std::move(**first->answer);
        first->leave();
        EXPECT_EQ(admission.figures().running, 1U);
    }
    EXPECT_EQ(admission.figures().running, 0U);
}

class OnePlaceTest : public AdmissionTest {
   protected:
    OnePlaceTest() : AdmissionTest({.running = 1, .waiting = 100}) {}

    // The principals in the order in which they get the place, each run ending at once.
    std::string take_turns(std::vector<CallerPtr> callers) {
        const auto is_running = [](const CallerPtr& caller) { return caller->runs(); };
        std::string order;
        auto next = std::ranges::find_if(callers, is_running);
        while (next != callers.end()) {
            order += (*next)->principal;
            callers.erase(next);
            settle();
            next = std::ranges::find_if(callers, is_running);
        }
        EXPECT_TRUE(callers.empty()) << "somebody still waits";
        return order;
    }
};

TEST_F(OnePlaceTest, GoesAroundBetweenThoseWhoWait) {
    EXPECT_EQ(take_turns(enter_all("xaaaaabbc")), "xabcabaaa");
    EXPECT_EQ(admission.figures().running, 0U);
    EXPECT_EQ(admission.figures().waiting, 0U);
}

TEST_F(OnePlaceTest, WhoComesLateIsNotBehindTheWholeQueue) {
    std::vector<CallerPtr> callers = enter_all(std::string(90, 'a'));
    callers.push_back(enter_for("b"));
    EXPECT_EQ(take_turns(std::move(callers)).find('b'), 2U);
}

TEST_F(OnePlaceTest, ATurnIsNotLostWhenAnotherOfTheSamePrincipalLeaves) {
    std::vector<CallerPtr> callers = enter_all("xaab");
    callers[1]->cancellation->request();
    settle();
    callers.erase(callers.begin() + 1);
    EXPECT_EQ(take_turns(std::move(callers)), "xab");
}

TEST_F(OnePlaceTest, WhoHasLeftAltogetherIsPassedOver) {
    std::vector<CallerPtr> callers = enter_all("xaab");
    for (const std::size_t index : {1U, 2U}) {
        callers[index]->cancellation->request();
    }
    callers.push_back(enter_for("a"));
    settle();
    callers.erase(callers.begin() + 1, callers.begin() + 3);
    EXPECT_EQ(take_turns(std::move(callers)), "xba") << "and comes back behind the others";
}

class SharedAdmissionTest : public AdmissionTest {
   protected:
    SharedAdmissionTest()
        : AdmissionTest({.running = 4, .waiting = 6, .running_each = 3, .waiting_each = 2}) {}
};

TEST_F(SharedAdmissionTest, NobodyTakesEveryPlace) {
    const std::vector<CallerPtr> noisy = enter_all("aaaa");
    EXPECT_TRUE(noisy[2]->runs());
    EXPECT_TRUE(noisy[3]->waits());
    EXPECT_TRUE(enter_for("b")->runs()) << "at once, however long the others run";
    cancel_all(noisy);
}

TEST_F(SharedAdmissionTest, AFullShareIsTheCallersOwnAffair) {
    const std::vector<CallerPtr> noisy = enter_all("aaaaaa");
    ASSERT_FALSE(noisy[5]->waits());
    EXPECT_EQ(noisy[5]->code(), ErrorCode::QuotaReached);
    EXPECT_GE(noisy[5]->error().retry_after, seconds(1));
    const std::vector<CallerPtr> others = enter_all("bbb");
    EXPECT_TRUE(others[0]->runs());
    EXPECT_TRUE(others[1]->waits());
    EXPECT_TRUE(others[2]->waits());
    EXPECT_EQ(admission.figures().refused.at("share_full"), 1U);
    cancel_all(noisy);
    cancel_all(others);
}

TEST_F(SharedAdmissionTest, AFullQueueIsEverybodys) {
    const std::vector<CallerPtr> callers = enter_all("aaabbbccdd");
    const CallerPtr refused = enter_for("e");
    ASSERT_FALSE(refused->waits());
    EXPECT_EQ(refused->code(), ErrorCode::Overloaded);
    cancel_all(callers);
}

TEST_F(SharedAdmissionTest, WhoIsAtItsBoundDoesNotHoldUpTheOthers) {
    const std::vector<CallerPtr> callers = enter_all("aaabab");
    EXPECT_TRUE(callers[4]->waits() && callers[5]->waits());
    callers[3]->leave();
    settle();
    EXPECT_TRUE(callers[5]->runs()) << "though it came after the other";
    callers[0]->leave();
    settle();
    EXPECT_TRUE(callers[4]->runs());
}

TEST_F(SharedAdmissionTest, ADeadlineThatPassesForOnesOwnRunsIsOnesOwnAffair) {
    const std::vector<CallerPtr> running = enter_all("aaa");
    EXPECT_EQ(enter_for("a", seconds(-1))->code(), ErrorCode::QuotaReached);
    const std::vector<CallerPtr> last = enter_all("b");
    EXPECT_EQ(enter_for("b", seconds(-1))->code(), ErrorCode::Overloaded);
}

TEST_F(SharedAdmissionTest, SurvivesEveryOrderOfEvents) {
    std::mt19937 random(7);
    std::vector<CallerPtr> callers;
    for (int step = 0; step < 20'000; ++step) {
        const unsigned choice = random() % 4;
        if (choice == 0 || callers.empty()) {
            callers.push_back(enter_for(std::string(1, static_cast<char>('a' + random() % 3))));
            continue;
        }
        const std::size_t index = random() % callers.size();
        Caller& caller = *callers[index];
        if (caller.waits() && choice == 1) {
            caller.cancellation->request();
        }
        if (random() % 2 == 0) {
            settle();
        }
        if (!caller.waits()) {
            callers.erase(callers.begin() + static_cast<std::ptrdiff_t>(index));
        }
        ASSERT_LE(admission.figures().running, 4U);
        ASSERT_LE(admission.figures().waiting, 6U);
    }
    cancel_all(callers);
    callers.clear();
    EXPECT_EQ(admission.figures().running, 0U);
    EXPECT_EQ(admission.figures().waiting, 0U);
}

TEST(BoundsFrom, OneCallerHasAllThereIs) {
    const Admission::Bounds bounds = bounds_from(
        {.concurrent_runs = 8, .concurrent_runs_per_principal = 1, .queued_runs = 5}, Callers::One);
    EXPECT_EQ(bounds.running, 8U);
    EXPECT_EQ(bounds.running_each, Admission::kNoBound);
    EXPECT_EQ(bounds.waiting, 5U);
    EXPECT_EQ(bounds.waiting_each, Admission::kNoBound);
}

TEST(BoundsFrom, AmongSeveralEachLeavesRoom) {
    for (const auto& [all, each] : {std::pair{1U, 1U}, {2U, 1U}, {3U, 2U}, {4U, 3U}, {16U, 12U}}) {
        const auto bounds = bounds_from({.concurrent_runs = all}, Callers::Several);
        EXPECT_EQ(bounds.running_each, each) << all;
    }
    for (const auto& [all, each] : {std::pair{0U, 1U}, {1U, 1U}, {8U, 2U}, {256U, 64U}}) {
        const auto bounds = bounds_from({.queued_runs = all}, Callers::Several);
        EXPECT_EQ(bounds.waiting_each, each) << all;
    }
}

TEST(BoundsFrom, WhatTheOperatorChoseHolds) {
    const Admission::Bounds bounds = bounds_from({.concurrent_runs = 8,
                                                  .concurrent_runs_per_principal = 8,
                                                  .queued_runs = 10,
                                                  .queued_runs_per_principal = 1},
                                                 Callers::Several);
    EXPECT_EQ(bounds.running_each, 8U);
    EXPECT_EQ(bounds.waiting_each, 1U);
}

TEST_F(AdmissionTest, APrincipalMayHaveAShareOfItsOwn) {
    std::size_t of_each = Admission::kNoBound;
    admission.share_by([&of_each](const std::string& principal) {
        return Admission::Share{.running = principal == "a" ? 1 : of_each, .waiting = 2};
    });
    std::vector<CallerPtr> callers = enter_all("aab");
    EXPECT_TRUE(callers[0]->runs());
    EXPECT_TRUE(callers[1]->waits());
    EXPECT_TRUE(callers[2]->runs());
    cancel_all(callers);
    callers.clear();
    settle();
    of_each = 1;  // from now on, also for who was here before
    callers = enter_all("bb");
    EXPECT_TRUE(callers[0]->runs());
    EXPECT_TRUE(callers[1]->waits());
    cancel_all(callers);
}

}  // namespace
}  // namespace belljar::engine
