#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "jar/call_rule.h"

namespace belljar::jar {

struct SyscallEntry {
    std::uint32_t number;
    std::string_view name;
    Treatment treatment;
};

// Every call of x86-64 that we know, in the order of the numbers.
[[nodiscard]] std::span<const SyscallEntry> syscall_table();

// Empty for a number that we do not know.
[[nodiscard]] std::string_view syscall_name(std::uint32_t number);

// Absent for a number that we do not know.
[[nodiscard]] Treatment treatment_of(std::uint32_t number);

}  // namespace belljar::jar
