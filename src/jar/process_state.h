#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>

#include "base/result.h"

namespace belljar::jar {

// What the kernel tells of a process before it can be waited for. It ends long before that: its
// memory is taken apart first.
struct ProcessState {
    // Whether its end would be shown to us and not only a zero; as long as it has memory.
    enum class Sight { Clear, Denied, NoMemory };

    Sight sight = Sight::NoMemory;
    bool ending = false;  // it runs no instruction of its program any more
    unsigned threads = 0;
    int wait_status = 0;  // once it is ending, if its last thread is
};

// Of a child of the caller's that nobody has waited for: its number is its own.
[[nodiscard]] Result<ProcessState> read_process_state(pid_t process);

// What the kernel says when it has been waited for.
[[nodiscard]] std::uint64_t cpu_nanoseconds(const rusage& usage);
[[nodiscard]] std::uint64_t largest_bytes(const rusage& one, const rusage& other);

}  // namespace belljar::jar
