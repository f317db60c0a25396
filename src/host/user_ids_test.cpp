#include "host/user_ids.h"

#include <gtest/gtest.h>

namespace belljar::host {
namespace {

TEST(HostUserIds, ParsesAccounts) {
    const auto accounts = parse_accounts(
        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n# x\nbad:x:-1:0::/:\n");
    ASSERT_EQ(accounts.size(), 2U);
    EXPECT_EQ(accounts[1].owner, "nobody");
    EXPECT_EQ(accounts[1].first, 65534U);
    EXPECT_EQ(accounts[1].count, 1U);
}

TEST(HostUserIds, ParsesSubordinateIds) {
    const auto ranges = parse_subordinate_ids("ada:100000:65536\nbroken:1\n\n");
    ASSERT_EQ(ranges.size(), 1U);
    EXPECT_EQ(ranges[0].owner, "ada");
    EXPECT_EQ(ranges[0].first, 100000U);
    EXPECT_EQ(ranges[0].count, 65536U);
}

TEST(HostUserIds, ParsesTheMapOfAUserNamespace) {
    const auto host = parse_id_map("         0          0 4294967295\n");
    ASSERT_EQ(host.size(), 1U);
    EXPECT_TRUE(host[0].contains({.first = 2'000'000'000, .count = 100'000'000}));
    const auto container = parse_id_map("0 100000 65536\n");
    ASSERT_EQ(container.size(), 1U);
    EXPECT_FALSE(container[0].contains({.first = 2'000'000'000, .count = 100'000'000}));
    EXPECT_TRUE(parse_id_map("nonsense\n").empty());
}

TEST(HostUserIds, RangesThatOnlyTouchDoNotOverlap) {
    const IdRange range{.first = 100, .count = 10};
    EXPECT_FALSE(range.overlaps({.first = 110, .count = 5}));
    EXPECT_FALSE(range.overlaps({.first = 90, .count = 10}));
    EXPECT_TRUE(range.overlaps({.first = 109, .count = 1}));
    EXPECT_TRUE(range.overlaps({.first = 0, .count = 1000}));
}

}  // namespace
}  // namespace belljar::host
