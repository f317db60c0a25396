#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/attempt.h"

namespace belljar::host {

struct Seccomp {
    std::vector<std::string> actions{};  // by the kernel's names: "kill_process", "user_notif", ...
    Attempt filter{};                    // one was installed, as by a process without privileges

    [[nodiscard]] bool has(std::string_view action) const;
};

// What the kernel lists, together with what it says to SECCOMP_GET_ACTION_AVAIL: the list needs
// /proc/sys, and not every container shows that.
[[nodiscard]] Seccomp probe_seccomp();

}  // namespace belljar::host
