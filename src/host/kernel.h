#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

namespace belljar::host {

struct KernelVersion {
    int major = 0;
    int minor = 0;

    auto operator<=>(const KernelVersion&) const = default;
};

// The first two numbers of a release such as "6.8.0-45-generic"; zeros if there are none.
[[nodiscard]] KernelVersion parse_kernel_release(std::string_view release);

struct Kernel {
    std::string release{};
    std::string machine{};  // x86_64, aarch64, ...
    KernelVersion version{};
};

[[nodiscard]] Kernel read_kernel();

// Names of the newer system calls that jars are built with and this kernel does not know. One that
// is known but refused is not listed: whether it is allowed is seen when it is used.
[[nodiscard]] std::vector<std::string> missing_system_calls();

// Names of the calls that build a file tree by descriptor, of those not known.
[[nodiscard]] std::vector<std::string> missing_mount_calls();

// Other ways into the kernel than the machine's own system calls.
struct ForeignCalls {
    bool ia32 = false;  // int 0x80
    bool x32 = false;   // system call numbers from 0x40000000 on
};

[[nodiscard]] ForeignCalls probe_foreign_calls();

}  // namespace belljar::host
