// Bytes -> one system call, through all variants of the filter. What must not pass is written here
// a second time, in the kernel's terms and not in those of the rules.
#include <linux/audit.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/assert.h"
#include "jar/seccomp_filter.h"
#include "jar/syscall_table.h"
#include "jar/testing/bpf_interpreter.h"

namespace {

using namespace belljar::jar;

struct Variant {
    FilterOptions options;
    std::vector<sock_filter> filter;
};

const std::vector<Variant>& variants() {
    static const std::vector<Variant> kBuilt = [] {
        std::vector<Variant> built;
        for (const OnRefusal on_refusal : {OnRefusal::Notify, OnRefusal::Errno}) {
            for (const Reach reach : {Reach::OwnNamespaces, Reach::HostNamespaces}) {
                const FilterOptions options{.on_refusal = on_refusal, .reach = reach};
                built.push_back({.options = options, .filter = build_filter(options)});
            }
        }
        return built;
    }();
    return kBuilt;
}

bool dangerous_socket(const seccomp_data& call, Reach reach) {
    const auto family = static_cast<int>(call.args[0]);
    const int type = static_cast<int>(call.args[1]) & 0xf;
    const auto protocol = static_cast<int>(call.args[2]);
    if (reach == Reach::HostNamespaces) {
        return call.nr == SYS_socket || family != AF_UNIX ||
               (type != SOCK_STREAM && type != SOCK_SEQPACKET);
    }
    switch (family) {
        case AF_UNIX:
            return type == SOCK_RAW || type > SOCK_SEQPACKET;
        case AF_INET:
        case AF_INET6:
            return !(type == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP)) &&
                   !(type == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP));
        case AF_NETLINK:
            return protocol != 0;
        default:
            return true;
    }
}

bool priority_inheritance(int operation) {
    const int command = operation & FUTEX_CMD_MASK;
    return (command >= FUTEX_LOCK_PI && command <= FUTEX_TRYLOCK_PI) ||
           command >= FUTEX_WAIT_REQUEUE_PI || command < 0;
}

bool is_device(std::uint64_t mode) {
    return S_ISCHR(static_cast<std::uint16_t>(mode)) || S_ISBLK(static_cast<std::uint16_t>(mode));
}

bool real_time(int policy) {
    const int base = policy & ~SCHED_RESET_ON_FORK;
    return base != SCHED_OTHER && base != SCHED_BATCH && base != SCHED_IDLE;
}

constexpr std::uint32_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                         CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
constexpr std::uint32_t kNewTime = 0x80;  // for unshare only
constexpr std::uint32_t kTcpUlp = 31;

bool must_not_pass(const seccomp_data& call, Reach reach) {
    const auto first = static_cast<std::uint32_t>(call.args[0]);
    const auto second = static_cast<std::uint32_t>(call.args[1]);
    const auto third = static_cast<std::uint32_t>(call.args[2]);
    switch (call.nr) {
        case SYS_ioctl:
            return second == TIOCSTI || second == TIOCLINUX || second == TIOCSETD;
        case SYS_socket:
        case SYS_socketpair:
            return dangerous_socket(call, reach);
        case SYS_setsockopt:
            return second == IPPROTO_TCP && third == kTcpUlp;
        case SYS_clone:
            return (first & kNewNamespaces) != 0;
        case SYS_unshare:
            return (first & (kNewNamespaces | kNewTime)) != 0;
        case SYS_futex:
            return priority_inheritance(static_cast<int>(second));
        case SYS_personality:
            return first != 0 && first != 8 && first != 0x20000 && first != 0x20008 &&
                   first != 0xffffffff;
        case SYS_seccomp:
            return (second & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0;
        case SYS_prctl:
            return first == PR_SET_MM || first == PR_SCHED_CORE || first == PR_SET_IO_FLUSHER;
        case SYS_setrlimit:
            return first == RLIMIT_CORE;
        case SYS_prlimit64:
            return (second == RLIMIT_CORE || first != 0) && call.args[2] != 0;
        case SYS_mknod:
            return is_device(call.args[1]);
        case SYS_mknodat:
            return is_device(call.args[2]);
        case SYS_sched_setscheduler:
            return real_time(static_cast<int>(second)) ||
                   (reach == Reach::HostNamespaces && first != 0);
        case SYS_setpriority:
        case SYS_ioprio_set:
            return reach == Reach::HostNamespaces && second != 0;
        case SYS_sched_setaffinity:
        case SYS_sched_setparam:
            return reach == Reach::HostNamespaces && first != 0;
        case SYS_connect:
            return reach == Reach::HostNamespaces;
        default:
            return syscall_name(static_cast<std::uint32_t>(call.nr)).empty();
    }
}

bool foreign(const seccomp_data& call) {
    return call.arch != AUDIT_ARCH_X86_64 || static_cast<std::uint32_t>(call.nr) >= 0x40000000;
}

void check(const seccomp_data& call, const Variant& variant) {
    const std::optional<std::uint32_t> result = interpret(variant.filter, call);
    BJ_ASSERT(result.has_value());
    if (foreign(call)) {
        BJ_ASSERT(*result == SECCOMP_RET_KILL_PROCESS);
        return;
    }
    const Reach reach = variant.options.reach;
    const Treatment treatment = treatment_of(static_cast<std::uint32_t>(call.nr));
    const Answer answer = decide(rule_for(treatment, reach), std::span<const __u64, 6>(call.args));
    const bool passes = answer.ruling == Ruling::Allow || answer.ruling == Ruling::Observe;
    BJ_ASSERT(!passes || !must_not_pass(call, reach));
    const bool notify = variant.options.on_refusal == OnRefusal::Notify;
    if (notify && (answer.ruling == Ruling::Observe || answer.ruling == Ruling::Refuse)) {
        BJ_ASSERT(*result == SECCOMP_RET_USER_NOTIF);
    } else if (passes) {
        BJ_ASSERT(*result == SECCOMP_RET_ALLOW);
    } else {
        BJ_ASSERT(answer.error > 0);
        BJ_ASSERT(*result == (SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(answer.error)));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    seccomp_data call{.nr = 0, .arch = AUDIT_ARCH_X86_64, .instruction_pointer = 0, .args = {}};
    // The first byte chooses the architecture; number and arguments follow.
    if (size < 1) {
        return 0;
    }
    if (data[0] == 1) {
        call.arch = AUDIT_ARCH_I386;
    }
    std::array<std::uint8_t, sizeof call.nr + sizeof call.args> bytes{};
    std::memcpy(bytes.data(), data + 1, std::min(size - 1, bytes.size()));
    std::memcpy(&call.nr, bytes.data(), sizeof call.nr);
    std::memcpy(call.args, bytes.data() + sizeof call.nr, sizeof call.args);
    for (const Variant& variant : variants()) {
        check(call, variant);
    }
    return 0;
}
