#include "engine/grade.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "isolation/warden_messages.h"

namespace belljar::engine {
namespace {

using config::IsolationFloor;
using isolation::Layer;

constexpr std::uint32_t kAll = 0x3FF;

std::uint32_t without(Layer layer) { return kAll & ~isolation::bit(layer); }

execution::Isolation graded(std::uint32_t layers) { return grade_of(layers, jar::Mode::Root); }

bool is_missing(const execution::Isolation& isolation, std::string_view name) {
    return std::ranges::find(isolation.missing, name) != isolation.missing.end();
}

TEST(Grade, WithEveryLayerIsFull) {
    const execution::Isolation isolation = graded(kAll);
    EXPECT_EQ(isolation.tier, "kernel");
    EXPECT_EQ(isolation.mode, "root");
    EXPECT_EQ(isolation.grade, "full");
    EXPECT_TRUE(isolation.missing.empty());
    EXPECT_TRUE(check_floor(isolation, IsolationFloor::Full));
}

TEST(Grade, SaysTheMode) {
    EXPECT_EQ(grade_of(kAll, jar::Mode::Rootless).mode, "rootless");
    EXPECT_EQ(grade_of(kAll, jar::Mode::Nested).mode, "nested");
    EXPECT_TRUE(is_nested(grade_of(kAll, jar::Mode::Nested)));
    EXPECT_FALSE(is_nested(grade_of(kAll, jar::Mode::Rootless)));
}

TEST(Grade, WithoutALayerOfFullIsStandard) {
    for (const Layer layer :
         {Layer::UniqueUser, Layer::Landlock, Layer::DiskQuota, Layer::CpuShare}) {
        const execution::Isolation isolation = graded(without(layer));
        EXPECT_EQ(isolation.grade, "standard");
        EXPECT_EQ(isolation.missing.size(), 1U);
        EXPECT_FALSE(check_floor(isolation, IsolationFloor::Full));
    }
}

TEST(Grade, WithoutALayerOfStandardIsBasic) {
    for (const Layer layer :
         {Layer::Namespaces, Layer::ReadOnlyRoot, Layer::MemoryLimit, Layer::ProcessLimit}) {
        const execution::Isolation isolation = graded(without(layer));
        EXPECT_EQ(isolation.grade, "basic");
        EXPECT_TRUE(check_floor(isolation, IsolationFloor::Basic));
        EXPECT_FALSE(check_floor(isolation, IsolationFloor::Standard));
    }
    EXPECT_TRUE(is_missing(graded(without(Layer::MemoryLimit)), "memory_limit"));
}

TEST(Grade, WithoutAFundamentalLayerIsNone) {
    for (const Layer layer : {Layer::Seccomp, Layer::NoCapabilities}) {
        for (const std::uint32_t other : {kAll, without(Layer::MemoryLimit)}) {
            const execution::Isolation isolation = graded(without(layer) & other);
            EXPECT_EQ(isolation.grade, "none");
            EXPECT_FALSE(check_floor(isolation, IsolationFloor::Basic));
        }
    }
}

TEST(Grade, WithoutAnyFenceAroundFilesIsNone) {
    EXPECT_EQ(graded(without(Layer::Landlock) & without(Layer::Namespaces)).grade, "none");
    EXPECT_EQ(graded(without(Layer::Landlock) & without(Layer::ReadOnlyRoot)).grade, "none");
}

TEST(Grade, OfNothingIsNone) {
    const execution::Isolation isolation = graded(0);
    EXPECT_EQ(isolation.grade, "none");
    EXPECT_EQ(isolation.missing.size(), 10U);
}

TEST(Grade, BitsThatNobodyKnowsAddNothing) {
    EXPECT_EQ(graded(~kAll).grade, "none");
    EXPECT_EQ(graded(kAll | 0x80000000U).grade, graded(kAll).grade);
}

TEST(CheckFloor, SaysWhatIsMissingAndWhatToDo) {
    const Result<void> refused =
        check_floor(graded(without(Layer::MemoryLimit)), IsolationFloor::Standard);
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
