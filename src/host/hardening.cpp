#include "host/hardening.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/fd.h"
#include "host/kernel_file.h"

namespace belljar::host {
namespace {

constexpr int kGetMdwe = 66;  // PR_GET_MDWE; linux/prctl.h of Debian 12 is older

// By how their names begin: IP, unix sockets and the interface to the kernel's network settings.
constexpr std::array<std::string_view, 7> kOrdinary{"TCP", "UDP",  "MPTCP",  "PING",
                                                    "RAW", "UNIX", "NETLINK"};

bool is_ordinary(const std::string& protocol) {
    return std::ranges::any_of(
        kOrdinary, [&protocol](std::string_view begin) { return protocol.starts_with(begin); });
}

}  // namespace

std::vector<std::string> parse_swaps(std::string_view text) {
    std::vector<std::string> names;
    for (const std::string_view line : lines_of(text)) {
        const std::vector<std::string> words = words_of(line);
        if (!words.empty() && words.front() != "Filename") {
            names.push_back(words.front());
        }
    }
    return names;
}

std::string core_handler(std::string_view pattern) {
    if (!pattern.starts_with('|')) {
        return {};
    }
    const std::vector<std::string> words = words_of(pattern.substr(1));
    return words.empty() ? "|" : words.front();
}

std::vector<std::string> unusual_socket_families(std::string_view protocols) {
    std::vector<std::string> found;
    for (const std::string_view line : lines_of(protocols)) {
        const std::vector<std::string> words = words_of(line);
        if (!words.empty() && words.front() != "protocol" && !is_ordinary(words.front())) {
            found.push_back(words.front());
        }
    }
    return found;
}

Hardening read_hardening() {
    return {
        .swaps = parse_swaps(read_text("/proc/swaps").value_or("")),
        .core_handler = core_handler(read_value("/proc/sys/kernel/core_pattern").value_or("")),
        .memory_is_merged = read_number("/sys/kernel/mm/ksm/run") == 1,
        .legacy_tiocsti = read_number("/proc/sys/dev/tty/legacy_tiocsti"),
        .ptrace_scope = read_number("/proc/sys/kernel/yama/ptrace_scope"),
        .threads_share_cores = read_number("/sys/devices/system/cpu/smt/active") == 1,
        .can_deny_write_execute = ::prctl(kGetMdwe, 0UL, 0UL, 0UL, 0UL) >= 0,
        .socket_families = unusual_socket_families(read_text("/proc/net/protocols").value_or(""))};
}

Kvm probe_kvm() {
    if (::access("/dev/kvm", F_OK) != 0) {
        return {};
    }
    const Fd device(::open("/dev/kvm", O_RDWR | O_CLOEXEC));
    return {.present = true, .sys_errno = device.valid() ? 0 : errno};
}

}  // namespace belljar::host
