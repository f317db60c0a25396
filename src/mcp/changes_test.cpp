#include "mcp/changes.h"

#include <gtest/gtest.h>

#include <optional>

namespace belljar::mcp {
namespace {

TEST(Changes, TellsWhoListens) {
    Changes changes;
    int heard = 0;
    {
        const Changes::Subscription subscription = changes.listen([&heard](const Change& change) {
            heard += change.kind == Change::Kind::Prompts ? 1 : 0;
        });
        changes.tell({.kind = Change::Kind::Prompts});
    }
    changes.tell({.kind = Change::Kind::Prompts});
    EXPECT_EQ(heard, 1);
}

TEST(Changes, OneMayEndAnotherWhileItIsTold) {
    Changes changes;
    std::optional<Changes::Subscription> second;
    int heard = 0;
    const Changes::Subscription first =
        changes.listen([&second](const Change&) { second.reset(); });
    second.emplace(changes.listen([&heard](const Change&) { ++heard; }));
    changes.tell({});
    EXPECT_EQ(heard, 0);
}

TEST(Changes, SubscriptionsMove) {
    Changes changes;
    int heard = 0;
    Changes::Subscription first = changes.listen([&heard](const Change&) { ++heard; });
    Changes::Subscription second = std::move(first);
    first = {};
    changes.tell({});
    second = {};
    changes.tell({});
    EXPECT_EQ(heard, 1);
}

TEST(Change, ConcernsItsOwnerOrEverybody) {
    EXPECT_TRUE(Change{}.concerns("anna"));
    EXPECT_TRUE(Change{.principal = "anna"}.concerns("anna"));
    EXPECT_FALSE(Change{.principal = "anna"}.concerns("bert"));
}

}  // namespace
}  // namespace belljar::mcp
