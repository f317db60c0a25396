#include "jar/bpf_assembler.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "jar/testing/bpf_interpreter.h"

namespace belljar::jar {
namespace {

std::optional<std::uint32_t> run(const BpfAssembler& assembler, int number) {
    return interpret(assembler.program(),
                     seccomp_data{.nr = number, .arch = 0, .instruction_pointer = 0, .args = {}});
}

TEST(BpfAssembler, OneInstructionForEachResult) {
    BpfAssembler assembler;
    const auto yes = assembler.finish_with(1);
    const auto no = assembler.finish_with(2);
    EXPECT_EQ(assembler.finish_with(1), yes);
    assembler.load(offsetof(seccomp_data, nr), assembler.branch(BPF_JEQ, 7, yes, no));
    EXPECT_EQ(assembler.program().size(), 4U);
    EXPECT_EQ(run(assembler, 7), 1U);
    EXPECT_EQ(run(assembler, 8), 2U);
}

TEST(BpfAssembler, MasksAndJumpsToWhatIsNotNext) {
    BpfAssembler assembler;
    const auto low = assembler.finish_with(1);
    const auto high = assembler.finish_with(2);
    const auto test = assembler.branch(BPF_JGE, 8, high, low);
    assembler.finish_with(3);  // in the way
    assembler.load(offsetof(seccomp_data, nr), assembler.mask(0xf, test));
    EXPECT_EQ(run(assembler, 0x107), 1U);
    EXPECT_EQ(run(assembler, 0x108), 2U);
}

// Offsets of a branch have eight bits; a chain of a thousand comparisons does not fit.
TEST(BpfAssembler, ReachesFartherThanABranchCan) {
    BpfAssembler assembler;
    const auto found = assembler.finish_with(1);
    auto next = assembler.finish_with(2);
    for (std::uint32_t number = 0; number < 1000; ++number) {
        next = assembler.branch(BPF_JEQ, number * 2, found, next);
    }
    assembler.load(offsetof(seccomp_data, nr), next);
    for (int number = 0; number < 2000; ++number) {
        ASSERT_EQ(run(assembler, number), number % 2 == 0 ? 1U : 2U) << number;
    }
}

}  // namespace
}  // namespace belljar::jar
