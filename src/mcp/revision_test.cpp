#include "mcp/revision.h"

#include <gtest/gtest.h>

namespace belljar::mcp {
namespace {

TEST(Revision, NamesReadBack) {
    for (const Revision revision : kRevisions) {
        EXPECT_EQ(parse_revision(name_of(revision)), revision);
    }
    EXPECT_FALSE(parse_revision("2024-10-07"));
    EXPECT_FALSE(parse_revision(""));
}

TEST(Revision, OnlyDatesFromTheModernOneOnAreModern) {
    EXPECT_TRUE(names_modern_version("2026-07-28"));
    EXPECT_TRUE(names_modern_version("2099-01-01"));
    EXPECT_FALSE(names_modern_version("2026-07-27"));
    EXPECT_FALSE(names_modern_version("2025-11-25"));
    EXPECT_FALSE(names_modern_version("v999"));
    EXPECT_FALSE(names_modern_version("2099-01-01 "));
    EXPECT_FALSE(names_modern_version("9999"));
}

TEST(Revision, NegotiatesLegacyOnly) {
    EXPECT_EQ(negotiate("2024-11-05"), Revision::V2024_11_05);
    EXPECT_EQ(negotiate("2025-06-18"), Revision::V2025_06_18);
    EXPECT_EQ(negotiate("2026-07-28"), Revision::V2025_11_25);
    EXPECT_EQ(negotiate("banana"), Revision::V2025_11_25);
}

}  // namespace
}  // namespace belljar::mcp
