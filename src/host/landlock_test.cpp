#include "host/landlock.h"

#include <gtest/gtest.h>

namespace belljar::host {
namespace {

TEST(HostLandlock, EachAbiAddsToTheOneBefore) {
    EXPECT_TRUE(landlock_features(0).empty());
    EXPECT_EQ(landlock_features(1), (std::vector<std::string_view>{"files"}));
    EXPECT_EQ(landlock_features(3),
              (std::vector<std::string_view>{"files", "links and renames", "truncation"}));
    EXPECT_EQ(landlock_gaps(6), (std::vector<std::string_view>{"audit log"}));
    EXPECT_TRUE(landlock_gaps(7).empty());
    EXPECT_TRUE(landlock_gaps(99).empty());
}

TEST(HostLandlock, NeverAnswersWithAnErrorNumber) {
    const Landlock found = probe_landlock();
    EXPECT_GE(found.abi, 0);
    EXPECT_GE(found.errata, 0);
}

}  // namespace
}  // namespace belljar::host
