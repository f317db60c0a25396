#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Settings of a host that reach into every jar on it.
namespace belljar::host {

// Devices or files in the text of /proc/swaps.
[[nodiscard]] std::vector<std::string> parse_swaps(std::string_view text);

// A pattern that begins with a bar names a program, which the kernel starts as root on the host.
[[nodiscard]] std::string core_handler(std::string_view pattern);

// Names in the text of /proc/net/protocols beyond IP, unix and netlink. Only what is loaded is
// listed there; asking for a family by opening a socket could load it.
[[nodiscard]] std::vector<std::string> unusual_socket_families(std::string_view protocols);

struct Hardening {
    std::vector<std::string> swaps{};
    std::string core_handler{};                    // empty if core files are not piped to a program
    bool memory_is_merged = false;                 // KSM runs
    std::optional<std::int64_t> legacy_tiocsti{};  // nothing before Linux 6.2
    std::optional<std::int64_t> ptrace_scope{};    // nothing without Yama
    bool threads_share_cores = false;              // SMT
    bool can_deny_write_execute = false;           // PR_SET_MDWE, Linux 6.3
    std::vector<std::string> socket_families{};    // beyond IP, unix and netlink
};

[[nodiscard]] Hardening read_hardening();

// Whether /dev/kvm is there, and 0 or the errno of opening it.
struct Kvm {
    bool present = false;
    int sys_errno = 0;
};

[[nodiscard]] Kvm probe_kvm();

}  // namespace belljar::host
