#pragma once

#include <linux/filter.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace belljar::jar {

// Writes a classic BPF program from its end to its beginning. Jumps lead forward only, so what an
// instruction jumps to exists before it does, and no offset is ever patched.
class BpfAssembler {
   public:
    // An instruction, counted from the end of the program.
    enum class Label : std::size_t {};

    // Ends the program with `value`; one instruction for each value.
    Label finish_with(std::uint32_t value);
    // Loads 32 bits of seccomp_data, then goes on at `next`.
    Label load(std::uint32_t offset, Label next);
    Label mask(std::uint32_t bits, Label next);
    // `test` is BPF_JEQ, BPF_JGE or BPF_JSET.
    Label branch(std::uint16_t test, std::uint32_t value, Label yes, Label no);

    // The program; it starts with the instruction that was written last.
    [[nodiscard]] std::vector<sock_filter> program() const;

   private:
    Label push(sock_filter instruction);
    // Makes `next` the instruction that follows.
    void fall_into(Label next);
    // `target`, or a jump to it that a branch can reach.
    Label within_reach(Label target);
    [[nodiscard]] std::size_t distance(Label target) const;

    std::vector<sock_filter> reversed_;
    std::map<std::uint32_t, Label> finishes_;
};

}  // namespace belljar::jar
