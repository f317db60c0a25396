#include "alerts/watchtower.h"

#include <gtest/gtest.h>

namespace belljar::alerts {
namespace {

using execution::SecurityEvent;
using std::chrono::minutes;
using std::chrono::seconds;

SecurityEvent denial_of(std::string principal) {
    return {.kind = "denial", .name = "network.off", .principal = std::move(principal)};
}

TEST(EventWindow, NeedsSoManyWithinTheTime) {
    EventWindow window({.count = 3, .window = seconds(10), .cool_down = minutes(1)});
    const TimePoint start{};
    EXPECT_FALSE(window.add("ann", start));
    EXPECT_FALSE(window.add("ann", start + seconds(6)));
    EXPECT_FALSE(window.add("ann", start + seconds(12)));  // the first is too old
    EXPECT_FALSE(window.add("ben", start + seconds(12)));
    EXPECT_EQ(window.add("ann", start + seconds(13)), 3U);
}

TEST(EventWindow, SaysNothingMoreUntilTheCoolDownIsOver) {
    EventWindow window({.count = 2, .window = seconds(10), .cool_down = minutes(1)});
    TimePoint now{};
    EXPECT_FALSE(window.add("ann", now));
    EXPECT_EQ(window.add("ann", now), 2U);
    for (int second = 1; second < 60; ++second) {
        EXPECT_FALSE(window.add("ann", now + seconds(second))) << second;
    }
    EXPECT_EQ(window.add("ann", now + seconds(60)), 60U);  // with those that were not told
    EXPECT_FALSE(window.add("ann", now + seconds(61)));
}

TEST(EventWindow, RemembersNoMoreKeysThanItMay) {
    EventWindow window({.count = 2, .window = minutes(1), .cool_down = minutes(1), .keys = 8});
    const TimePoint now{};
    EXPECT_FALSE(window.add("ann", now));
    for (int index = 0; index < 1000; ++index) {
        EXPECT_FALSE(window.add("stranger" + std::to_string(index), now));
        EXPECT_LE(window.keys(), 8U);
    }
    EXPECT_FALSE(window.add("ann", now));  // forgotten: it begins anew
    EXPECT_EQ(window.add("ann", now), 2U);
}

TEST(Watchtower, CountsEachPrincipalByItself) {
    Watchtower tower({{.name = "denials", .kinds = {"denial"}, .count = 2}});
    const TimePoint now{};
    EXPECT_TRUE(tower.take(denial_of("ann"), now).empty());
    EXPECT_TRUE(tower.take(denial_of("ben"), now).empty());
    EXPECT_TRUE(tower.take({.kind = "escape", .principal = "ann"}, now).empty());
    const std::vector<Alert> alerts = tower.take(denial_of("ann"), now);
    ASSERT_EQ(alerts.size(), 1U);
    EXPECT_EQ(alerts.front().principal, "ann");
    EXPECT_EQ(alerts.front().rule.name, "denials");
    EXPECT_EQ(alerts.front().events, 2U);
    EXPECT_FALSE(alerts.front().id.empty());
}

TEST(Watchtower, CountsByAddressAndForEverybody) {
    Watchtower tower({{.name = "access", .kinds = {"access"}, .count = 2, .per = Per::Address},
                      {.name = "all", .kinds = {"access"}, .count = 3, .per = Per::Everybody}});
    const TimePoint now{};
    const auto from = [](std::string address) {
        return SecurityEvent{.kind = "access", .details = {{"address", std::move(address)}}};
    };
    EXPECT_TRUE(tower.take(from("192.0.2.1"), now).empty());
    EXPECT_TRUE(tower.take(from("192.0.2.2"), now).empty());
    const std::vector<Alert> both = tower.take(from("192.0.2.1"), now);
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(both[0].address, "192.0.2.1");
    EXPECT_FALSE(both[0].principal);
    EXPECT_EQ(both[1].rule.name, "all");
}

TEST(Watchtower, GoesOnCountingByRulesThatStay) {
    const Rule kept{.name = "denials", .kinds = {"denial"}, .count = 2};
    Watchtower tower({kept, {.name = "other", .kinds = {"denial"}, .count = 2}});
    const TimePoint now{};
    EXPECT_TRUE(tower.take(denial_of("ann"), now).empty());
    tower.set_rules({{.name = "other", .kinds = {"denial"}, .count = 3}, kept});
    const std::vector<Alert> alerts = tower.take(denial_of("ann"), now);
    ASSERT_EQ(alerts.size(), 1U);
    EXPECT_EQ(alerts.front().rule.name, "denials");
}

TEST(Watchtower, RemembersTheLastOnly) {
    Watchtower tower({{.name = "denials", .kinds = {"denial"}, .cool_down = Duration{}}});
    for (int index = 0; index < 700; ++index) {
        for (Alert& alert : tower.take(denial_of("p" + std::to_string(index)), TimePoint{})) {
            tower.remember(std::move(alert));
        }
    }
    EXPECT_EQ(tower.recent().size(), 500U);
    EXPECT_EQ(tower.recent().back().principal, "p699");
}

TEST(Alert, IsValidJsonWhateverIsInIt) {
    Alert alert{.rule = {.name = "r"}, .principal = "\xff", .event = denial_of("\xff")};
    alert.event.text = std::string(100'000, '\xfe');
    alert.event.details["\x01"] = "\n";
    const Result<json::value> parsed = parse_json(to_text(to_json(alert)));
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_LT(to_text(*parsed).size(), 8000U);
}

}  // namespace
}  // namespace belljar::alerts
