#pragma once

#include <cstdint>

#include "base/clock.h"

namespace belljar::execution {

// Why we ended a guest, stored before the kill.
enum class KillReason : std::uint32_t {
    None,
    Deadline,    // the wall clock ran out
    Output,      // the guest flooded a stream
    Cancelled,   // the caller went away
    ServerGone,  // nobody is left to receive the outcome
};

// What was observed of a run from outside: our own records and the kernel's counters, nothing that
// the guest said.
struct RawExit {
    KillReason kill_reason = KillReason::None;
    bool exited = false;  // the guest's main process ended before we killed anything
    int wait_status = 0;  // as wait(2) gives it, if exited
    Duration wall{};
    Duration cpu{};
    std::uint64_t memory_peak_bytes = 0;
    std::uint64_t out_of_memory_kills = 0;
    std::uint64_t processes_peak = 0;
    std::uint64_t process_limit_hits = 0;
    std::uint64_t disk_used_bytes = 0;
};

}  // namespace belljar::execution
