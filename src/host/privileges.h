#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace belljar::host {

// The capabilities that are asked about here, by the kernel's numbers.
enum class Capability : unsigned {
    DacOverride = 1,
    Kill = 5,
    SetGid = 6,
    SetUid = 7,
    NetAdmin = 12,
    SysAdmin = 21,
};

[[nodiscard]] std::string_view name_of(Capability capability);

// What this process may do.
struct Privileges {
    uid_t effective_user = 0;
    std::uint64_t effective = 0;  // one bit per capability
    bool no_new_privs = false;
    bool filtered = false;  // a seccomp filter is in force already

    [[nodiscard]] bool has(Capability capability) const;
};

// Reads the text of /proc/self/status.
[[nodiscard]] Privileges parse_privileges(std::string_view status);
[[nodiscard]] Privileges read_privileges();

}  // namespace belljar::host
