#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace belljar::jar {

// What a program returns for a call, as the kernel would run it; nothing if the program has an
// instruction that ours have not, or leaves itself or its data.
inline std::optional<std::uint32_t> interpret(std::span<const sock_filter> program,
                                              const seccomp_data& data) {
    std::uint32_t accumulator = 0;
    for (std::size_t at = 0; at < program.size(); ++at) {
        const sock_filter& instruction = program[at];
        const auto jump = [&](bool taken) { at += taken ? instruction.jt : instruction.jf; };
        switch (instruction.code) {
            case BPF_LD | BPF_W | BPF_ABS:
                if (instruction.k % 4 != 0 || instruction.k > sizeof data - 4) {
                    return std::nullopt;
                }
                std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + instruction.k, 4);
                break;
            case BPF_ALU | BPF_AND | BPF_K:
                accumulator &= instruction.k;
                break;
            case BPF_JMP | BPF_JA:
                at += instruction.k;
                break;
            case BPF_JMP | BPF_JEQ | BPF_K:
                jump(accumulator == instruction.k);
                break;
            case BPF_JMP | BPF_JGE | BPF_K:
                jump(accumulator >= instruction.k);
                break;
            case BPF_JMP | BPF_JSET | BPF_K:
                jump((accumulator & instruction.k) != 0);
                break;
            case BPF_RET | BPF_K:
                return instruction.k;
            default:
                return std::nullopt;
        }
    }
    return std::nullopt;
}

}  // namespace belljar::jar
