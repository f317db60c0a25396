#include "engine/grade.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "isolation/warden_messages.h"

namespace belljar::engine {
namespace {

using config::IsolationFloor;
using isolation::Layer;

constexpr std::uint32_t kAll = 0x7F;

std::uint32_t without(Layer layer) { return kAll & ~static_cast<std::uint32_t>(layer); }

bool is_missing(const execution::Isolation& isolation, std::string_view name) {
    return std::ranges::find(isolation.missing, name) != isolation.missing.end();
}

TEST(Grade, WithEveryLayerIsAtLeastStandard) {
    const execution::Isolation isolation = grade_of(kAll);
    EXPECT_EQ(isolation.tier, "kernel");
    EXPECT_TRUE(check_floor(isolation, IsolationFloor::Basic));
    EXPECT_TRUE(check_floor(isolation, IsolationFloor::Standard));
    for (const std::string_view name :
         {"namespaces", "unique_user", "no_capabilities", "read_only_root", "memory_limit",
          "process_limit", "cpu_share"}) {
        EXPECT_FALSE(is_missing(isolation, name)) << name;
    }
}

TEST(Grade, IsFullOnlyIfNothingIsMissing) {
    const execution::Isolation isolation = grade_of(kAll);
    EXPECT_EQ(isolation.grade == "full", isolation.missing.empty());
    EXPECT_EQ(check_floor(isolation, IsolationFloor::Full).has_value(), isolation.missing.empty());
}

TEST(Grade, WithoutALayerOfStandardIsBasic) {
    for (const Layer layer : {Layer::UniqueUser, Layer::MemoryLimit, Layer::ProcessLimit}) {
        const execution::Isolation isolation = grade_of(without(layer));
        EXPECT_EQ(isolation.grade, "basic");
        EXPECT_TRUE(check_floor(isolation, IsolationFloor::Basic));
        EXPECT_FALSE(check_floor(isolation, IsolationFloor::Standard));
        EXPECT_FALSE(check_floor(isolation, IsolationFloor::Full));
    }
    EXPECT_TRUE(is_missing(grade_of(without(Layer::MemoryLimit)), "memory_limit"));
}

TEST(Grade, WithoutAFundamentalLayerIsNone) {
    for (const Layer layer : {Layer::Namespaces, Layer::NoCapabilities, Layer::ReadOnlyRoot}) {
        for (const std::uint32_t other : {kAll, without(Layer::MemoryLimit)}) {
            const execution::Isolation isolation = grade_of(without(layer) & other);
            EXPECT_EQ(isolation.grade, "none");
            EXPECT_FALSE(check_floor(isolation, IsolationFloor::Basic));
        }
    }
}

TEST(Grade, WithoutCpuShareIsStillStandard) {
    const execution::Isolation isolation = grade_of(without(Layer::CpuShare));
    EXPECT_TRUE(is_missing(isolation, "cpu_share"));
    EXPECT_TRUE(check_floor(isolation, IsolationFloor::Standard));
    EXPECT_FALSE(check_floor(isolation, IsolationFloor::Full));
}

TEST(Grade, OfNothingIsNone) {
    const execution::Isolation isolation = grade_of(0);
    EXPECT_EQ(isolation.grade, "none");
    EXPECT_GE(isolation.missing.size(), 7U);
}

TEST(Grade, BitsThatNobodyKnowsAddNothing) {
    EXPECT_EQ(grade_of(~kAll).grade, "none");
    EXPECT_EQ(grade_of(0x7FU | 0x80000000U).grade, grade_of(kAll).grade);
}

TEST(CheckFloor, SaysWhatIsMissingAndWhatToDo) {
    const Result<void> refused =
        check_floor(grade_of(without(Layer::MemoryLimit)), IsolationFloor::Standard);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Denied);
    for (const std::string_view part : {"standard", "basic", "memory_limit", "belljar doctor"}) {
        EXPECT_NE(refused.error().message.find(part), std::string::npos) << part;
    }
}

TEST(CheckFloor, RefusesAGradeThatNobodyKnows) {
    EXPECT_FALSE(check_floor({.grade = "excellent"}, IsolationFloor::Basic));
    EXPECT_FALSE(check_floor({}, IsolationFloor::Basic));
}

}  // namespace
}  // namespace belljar::engine
