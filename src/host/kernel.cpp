#include "host/kernel.h"

#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <span>

#include "host/attempt.h"

namespace belljar::host {
namespace {

struct KnownCall {
    const char* name;
    long number;
};

constexpr std::array<KnownCall, 5> kProcessCalls{{{"clone3", SYS_clone3},
                                                  {"pidfd_open", SYS_pidfd_open},
                                                  {"openat2", SYS_openat2},
                                                  {"close_range", SYS_close_range},
                                                  {"seccomp", SYS_seccomp}}};
constexpr std::array<KnownCall, 6> kMountCalls{{{"open_tree", SYS_open_tree},
                                                {"move_mount", SYS_move_mount},
                                                {"fsopen", SYS_fsopen},
                                                {"fsconfig", SYS_fsconfig},
                                                {"fsmount", SYS_fsmount},
                                                {"mount_setattr", SYS_mount_setattr}}};

// Every argument is one that all of these refuse at once: no descriptor, no address, no flag.
bool is_unknown(long number) {
    constexpr long kWrong = -1;
    return attempt([number] {
               return errno_of(::syscall(number, kWrong, kWrong, kWrong, kWrong, kWrong, kWrong));
           }).sys_errno == ENOSYS;
}

std::vector<std::string> unknown_of(std::span<const KnownCall> calls) {
    std::vector<std::string> names;
    for (const KnownCall& call : calls) {
        if (is_unknown(call.number)) {
            names.emplace_back(call.name);
        }
    }
    return names;
}

}  // namespace

KernelVersion parse_kernel_release(std::string_view release) {
    KernelVersion version;
    const char* end = release.data() + release.size();
    const auto parsed = std::from_chars(release.data(), end, version.major);
    if (parsed.ec == std::errc{} && parsed.ptr < end && *parsed.ptr == '.') {
        std::from_chars(parsed.ptr + 1, end, version.minor);
    }
    return version;
}

Kernel read_kernel() {
    utsname names{};
    if (::uname(&names) != 0) {
        return {};
    }
    return {.release = names.release,
            .machine = names.machine,
            .version = parse_kernel_release(names.release)};
}

std::vector<std::string> missing_system_calls() { return unknown_of(kProcessCalls); }

std::vector<std::string> missing_mount_calls() { return unknown_of(kMountCalls); }

ForeignCalls probe_foreign_calls() {
    ForeignCalls found;
#if defined(__x86_64__)
    // Without the emulation the instruction itself faults, so the child is ended by a signal.
    found.ia32 = attempt([] {
                     constexpr long kGetpidOfIa32 = 20;
                     long result = kGetpidOfIa32;
                     asm volatile("int $0x80" : "+a"(result) : : "memory");
                     return result > 0 ? 0 : ENOSYS;
                 }).worked();
    found.x32 = attempt([] {
                    constexpr long kBit = 0x40000000;
                    return errno_of(::syscall(kBit | SYS_getpid));
                }).worked();
#endif
    return found;
}

}  // namespace belljar::host
