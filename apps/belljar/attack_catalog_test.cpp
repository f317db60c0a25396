#include "attack_catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace belljar::apps {
namespace {

TEST(AttackCatalog, EveryAttackHasAProgramAndSaysWhatItIs) {
    const Result<std::vector<Attack>> catalog = read_attack_catalog();
    ASSERT_TRUE(catalog) << catalog.error().describe();
    std::set<std::string> names;
    for (const Attack& attack : *catalog) {
        EXPECT_TRUE(names.insert(attack.name).second) << attack.name;
        EXPECT_FALSE(attack.kind.empty() || attack.tries.empty() || attack.expects.empty());
        EXPECT_NE(attack.program.empty(), attack.not_applicable.empty()) << attack.name;
    }
    EXPECT_GE(names.size(), 70U);
}

TEST(AttackCatalog, HeadIsRead) {
    const Result<std::vector<Attack>> catalog = read_attack_catalog();
    ASSERT_TRUE(catalog);
    const auto attack = std::ranges::find(*catalog, "io_uring", &Attack::name);
    ASSERT_NE(attack, catalog->end());
    EXPECT_EQ(attack->kind, "Escape");
    EXPECT_EQ(attack->expects, "no such system call");
    EXPECT_EQ(attack->needs, std::vector<std::string>{"seccomp"});
}

TEST(AttackCatalog, SupportIsSentUnderItsOwnName) {
    std::set<std::string> names;
    for (const auto& [name, content] : attack_support_files()) {
        names.insert(name);
        EXPECT_FALSE(content.empty());
    }
    EXPECT_TRUE(names.contains("attempt.py"));
    EXPECT_TRUE(std::ranges::none_of(
        names, [](const std::string& name) { return name.find('/') != std::string::npos; }));
}

TEST(AttackCatalog, StatusSetHoldsItsMembers) {
    constexpr StatusSet kSet{execution::Status::Ok, execution::Status::Cancelled};
    static_assert(kSet.contains(execution::Status::Ok));
    static_assert(kSet.contains(execution::Status::Cancelled));
    static_assert(!kSet.contains(execution::Status::Timeout));
}

}  // namespace
}  // namespace belljar::apps
