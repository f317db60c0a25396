#include "mcp/event_log.h"

#include <gtest/gtest.h>

namespace belljar::mcp {
namespace {

TEST(EventPlace, IsWrittenAndRead) {
    EXPECT_EQ(format_place({3, 17}), "3-17");
    EXPECT_EQ(parse_place("3-17"), (EventPlace{3, 17}));
    for (const char* text :
         {"", "-", "3", "3-", "-17", "3-17-", "3 -17", "a-1", "3--1", "99999999999999999999-1"}) {
        EXPECT_EQ(parse_place(text), std::nullopt) << text;
    }
}

class EventLogTest : public testing::Test {
   protected:
    std::shared_ptr<EventBudget> budget = std::make_shared<EventBudget>();
};

TEST_F(EventLogTest, GivesWhatCameBehindInOneStream) {
    EventLog log(budget);
    log.add({1, 1}, "a");
    log.add({2, 1}, "other");
    log.add({1, 2}, "b");
    const std::vector<EventLog::Event> events = log.after({1, 1});
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].message, "b");
    EXPECT_EQ(log.after({1, 0}).size(), 2U);
    EXPECT_TRUE(log.after({3, 0}).empty());
}

TEST_F(EventLogTest, ForgetsTheOldestFirst) {
    EventLog log(budget);
    const std::string half(EventLog::kRoom.count / 2, 'x');
    for (std::uint64_t number = 1; number <= 3; ++number) {
        log.add({1, number}, half);
    }
    const std::vector<EventLog::Event> events = log.after({1, 0});
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].place.number, 2U);
    EXPECT_EQ(budget->held, 2 * half.size());
}

TEST_F(EventLogTest, KeepsTheNewestHoweverLarge) {
    EventLog log(budget);
    log.add({1, 1}, "small");
    log.add({1, 2}, std::string(2 * EventLog::kRoom.count, 'x'));
    ASSERT_EQ(log.after({1, 0}).size(), 1U);
    log.add({1, 3}, "small");
    EXPECT_EQ(log.after({1, 0}).size(), 1U);
    EXPECT_EQ(log.after({1, 0})[0].place.number, 3U);
}

TEST_F(EventLogTest, SharesABudgetAndGivesItBack) {
    budget->limit = Bytes{10};
    {
        EventLog first(budget);
        EventLog second(budget);
        first.add({1, 1}, "12345678");
        second.add({1, 1}, "12345678");
        EXPECT_EQ(first.after({1, 0}).size(), 1U);
        EXPECT_TRUE(second.after({1, 0}).empty());
    }
    EXPECT_EQ(budget->held, 0U);
}

}  // namespace
}  // namespace belljar::mcp
