#include "jar/step.h"

#include <gtest/gtest.h>

#include <set>

namespace belljar::jar {
namespace {

constexpr auto kLastStep = static_cast<std::uint32_t>(Step::SetUpDeadline);

TEST(Step, EveryStepHasANameOfItsOwn) {
    std::set<std::string_view> names;
    for (std::uint32_t step = 0; step <= kLastStep; ++step) {
        const std::string_view name = name_of(static_cast<Step>(step));
        EXPECT_FALSE(name.empty()) << step;
        EXPECT_NE(name, "unknown step") << step;
        EXPECT_TRUE(names.insert(name).second) << name;
    }
}

TEST(Step, ANumberFromTheWireThatIsNoStepIsStillNamed) {
    EXPECT_EQ(name_of(static_cast<Step>(kLastStep + 1)), "unknown step");
    EXPECT_EQ(name_of(static_cast<Step>(UINT32_MAX)), "unknown step");
}

}  // namespace
}  // namespace belljar::jar
