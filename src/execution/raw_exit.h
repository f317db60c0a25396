#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "execution/governance.h"

namespace belljar::execution {

// Why we ended a guest, stored before the kill.
enum class KillReason : std::uint32_t {
    None,
    Deadline,    // the wall clock ran out
    Output,      // the guest flooded a stream
    Cancelled,   // the caller went away
    ServerGone,  // nobody is left to receive the outcome
    Memory,      // the kernel ran out of memory for the jar; what it left alive was ended too
};

// A system call that the kernel refused because of our filter. The names are our own, the numbers
// were read by us; only an address comes out of the guest's memory.
struct DeniedCall {
    std::string call{};  // "socket"
    int sys_errno = 0;   // what the guest was told
    // What the rule looked at: the flags of clone and unshare, the request of ioctl, the resource
    // of a limit, the mode of mknod. For socket and socketpair the family, with the type in the
    // upper 32 bits.
    std::uint64_t argument = 0;
    std::string address{};  // "93.184.216.34:443", "[2001:db8::1]:443": where it wanted to connect
    std::uint64_t count = 1;
};

// What was observed of a run from outside: our own records and the kernel's counters, nothing that
// the guest said.
struct RawExit {
    KillReason kill_reason = KillReason::None;
    bool exited = false;  // the guest's main process ended before we killed anything
    int wait_status = 0;  // as wait(2) gives it, if exited
    Duration set_up{};    // from the order to the guest's start; none if the jar was waiting
    Duration wall{};
    Duration cpu{};
    std::uint64_t memory_peak_bytes = 0;
    std::uint64_t out_of_memory_kills = 0;
    std::uint64_t processes_peak = 0;
    std::uint64_t process_limit_hits = 0;
    std::uint64_t disk_used_bytes = 0;
    bool disk_full = false;  // at the end the workspace or /tmp had no block or no inode left
    std::vector<DeniedCall> denied{};
    NetworkAttempts network{};
};

}  // namespace belljar::execution
