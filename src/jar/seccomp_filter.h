#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "jar/call_rule.h"

namespace belljar::jar {

enum class OnRefusal : std::uint8_t {
    Notify,  // whoever holds the listener answers and is told; see DenialWatch
    Errno,   // the kernel answers, nobody is told
};

struct FilterOptions {
    OnRefusal on_refusal = OnRefusal::Notify;
    Reach reach = Reach::OwnNamespaces;
};

// The program for seccomp(2) that carries out the rulings of syscall_table.h. Any other ABI than
// that of 64 bits ends the process: its numbers mean other calls.
[[nodiscard]] std::vector<sock_filter> build_filter(const FilterOptions& options);

// Puts the calling thread and all that it starts under the filter, for good; no_new_privs must be
// set. With Notify, returns the listener: the caller hands it out of the filter and closes its own
// before it starts the guest. With Errno, the descriptor is not valid.
[[nodiscard]] Result<Fd> install_filter(std::span<const sock_filter> filter, OnRefusal on_refusal);

// Unsupported, naming the action, if this kernel lacks one that such a filter returns.
[[nodiscard]] Result<void> check_filter_support(OnRefusal on_refusal);

}  // namespace belljar::jar
