#include "jar/seccomp_filter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <set>

#include "jar/syscall_table.h"
#include "jar/testing/bpf_interpreter.h"

namespace belljar::jar {
namespace {

using Arguments = std::array<__u64, 6>;

constexpr std::array kVariants{
    FilterOptions{.on_refusal = OnRefusal::Notify, .reach = Reach::OwnNamespaces},
    FilterOptions{.on_refusal = OnRefusal::Notify, .reach = Reach::HostNamespaces},
    FilterOptions{.on_refusal = OnRefusal::Errno, .reach = Reach::OwnNamespaces},
    FilterOptions{.on_refusal = OnRefusal::Errno, .reach = Reach::HostNamespaces},
};
constexpr __u64 kGarbage = 0xdeadbeef00000000;
constexpr auto kEperm = SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(EPERM);
constexpr auto kEnosys = SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(ENOSYS);
constexpr auto kEinval = SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(EINVAL);
constexpr auto kNoFamily = SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(EAFNOSUPPORT);
constexpr auto kNoProtocol = SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(EPROTONOSUPPORT);

seccomp_data call(std::uint32_t number, const Arguments& arguments,
                  std::uint32_t architecture = AUDIT_ARCH_X86_64) {
    seccomp_data data{.nr = static_cast<int>(number),
                      .arch = architecture,
                      .instruction_pointer = 0x1000,
                      .args = {}};
    std::ranges::copy(arguments, data.args);
    return data;
}

std::uint32_t expected_action(std::uint32_t number, const Arguments& arguments,
                              const FilterOptions& options) {
    const Answer answer = decide(rule_for(treatment_of(number), options.reach), arguments);
    const auto error = SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(answer.error);
    const bool notify = options.on_refusal == OnRefusal::Notify;
    switch (answer.ruling) {
        case Ruling::Allow:
            return SECCOMP_RET_ALLOW;
        case Ruling::Observe:
            return notify ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;
        case Ruling::Refuse:
            return notify ? SECCOMP_RET_USER_NOTIF : error;
        case Ruling::Absent:
            return error;
    }
    return 0;
}

// Every value that a rule compares with, its neighbours, and each with bits that a mask removes.
std::set<__u64> values_around(const Rule& rule) {
    std::set<__u64> values{0, ~__u64{0}, kGarbage};
    for (const Check& check : rule.checks) {
        for (const std::uint32_t value : {check.value - 1, check.value, check.value + 1}) {
            values.insert(value);
            values.insert(value | kGarbage);
            values.insert(value | ~check.mask);
        }
    }
    return values;
}

// What the first three arguments can be; no rule looks at others.
std::vector<Arguments> argument_choices(const Rule& rule) {
    const std::set<__u64> values = values_around(rule);
    std::vector<Arguments> choices;
    for (const __u64 first : values) {
        for (const __u64 second : values) {
            for (const __u64 third : values) {
                choices.push_back({first, second, third, ~first, ~second, kGarbage});
            }
        }
    }
    return choices;
}

// The number of choices that the filter answers otherwise than the table.
std::size_t disagreements(std::span<const sock_filter> filter, std::uint32_t number,
                          const FilterOptions& options) {
    std::size_t count = 0;
    for (const Arguments& arguments :
         argument_choices(rule_for(treatment_of(number), options.reach))) {
        count += interpret(filter, call(number, arguments)) !=
                 expected_action(number, arguments, options);
    }
    return count;
}

TEST(SeccompFilter, DoesWhatTheTableSays) {
    for (const FilterOptions& options : kVariants) {
        const std::vector<sock_filter> filter = build_filter(options);
        for (std::uint32_t number = 0; number < 1024; ++number) {
            ASSERT_EQ(disagreements(filter, number, options), 0U) << number;
        }
        ASSERT_EQ(disagreements(filter, 0x3fffffff, options), 0U);
    }
}

TEST(SeccompFilter, AnotherAbiEndsTheProcess) {
    constexpr std::uint32_t kX32 = 0x40000000;
    for (const FilterOptions& options : kVariants) {
        const std::vector<sock_filter> filter = build_filter(options);
        for (std::uint32_t number = 0; number < 1024; ++number) {
            EXPECT_EQ(interpret(filter, call(number, {}, AUDIT_ARCH_I386)),
                      SECCOMP_RET_KILL_PROCESS);
            EXPECT_EQ(interpret(filter, call(number, {}, AUDIT_ARCH_AARCH64)),
                      SECCOMP_RET_KILL_PROCESS);
            EXPECT_EQ(interpret(filter, call(kX32 + number, {})), SECCOMP_RET_KILL_PROCESS);
        }
        for (const std::uint32_t number : {0x7fffffffU, 0x80000000U, 0xffffffffU}) {
            EXPECT_EQ(interpret(filter, call(number, {})), SECCOMP_RET_KILL_PROCESS);
        }
    }
}

// Loading costs time for every instruction, and every jar loads one.
TEST(SeccompFilter, IsSmall) {
    for (const FilterOptions& options : kVariants) {
        const bool own = options.reach == Reach::OwnNamespaces;
        EXPECT_LT(build_filter(options).size(), own ? 165U : 170U);
    }
}

// The kernel remembers which numbers are allowed whatever the arguments, if the filter comes to
// that answer by comparing the number alone. Nothing but the number may be read on the way.
TEST(SeccompFilter, AllowedCallsReadNoArgument) {
    for (const FilterOptions& options : kVariants) {
        std::vector<sock_filter> filter = build_filter(options);
        for (sock_filter& instruction : filter) {
            if (instruction.code == (BPF_LD | BPF_W | BPF_ABS) &&
                instruction.k >= offsetof(seccomp_data, args)) {
                instruction = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
            }
        }
        for (const SyscallEntry& entry : syscall_table()) {
            if (entry.treatment == Treatment::Allow) {
                EXPECT_EQ(interpret(filter, call(entry.number, {})), SECCOMP_RET_ALLOW)
                    << entry.name;
            }
        }
    }
}

struct Expectation {
    std::uint32_t number;
    Arguments arguments;
    std::uint32_t own;
    std::uint32_t host;
};

void expect_all(std::span<const Expectation> expectations) {
    const auto own = build_filter({.on_refusal = OnRefusal::Errno, .reach = Reach::OwnNamespaces});
    const auto host =
        build_filter({.on_refusal = OnRefusal::Errno, .reach = Reach::HostNamespaces});
    for (const Expectation& expected : expectations) {
        const seccomp_data data = call(expected.number, expected.arguments);
        const auto where = ::testing::Message()
                           << syscall_name(expected.number) << " " << std::hex << data.args[0]
                           << " " << data.args[1] << " " << data.args[2];
        EXPECT_EQ(interpret(own, data), expected.own) << where;
        EXPECT_EQ(interpret(host, data), expected.host) << where;
    }
}

TEST(SeccompFilter, Sockets) {
    constexpr auto kAllow = SECCOMP_RET_ALLOW;
    constexpr __u64 kCloexec = SOCK_CLOEXEC | SOCK_NONBLOCK;
    constexpr __u64 kMptcp = 262;
    expect_all(std::array<Expectation, 27>{{
        {SYS_socket, {AF_UNIX, SOCK_STREAM}, kAllow, kEperm},
        {SYS_socket, {AF_UNIX, SOCK_DGRAM}, kAllow, kEperm},
        {SYS_socket, {AF_UNIX, SOCK_SEQPACKET | kCloexec}, kAllow, kEperm},
        {SYS_socket, {AF_UNIX, SOCK_RAW}, kEperm, kEperm},
        {SYS_socket, {AF_INET, SOCK_STREAM | kCloexec}, kAllow, kEperm},
        {SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_TCP}, kAllow, kEperm},
        {SYS_socket, {AF_INET6, SOCK_DGRAM, IPPROTO_UDP}, kAllow, kEperm},
        {SYS_socket, {AF_INET, SOCK_STREAM, kMptcp}, kNoProtocol, kEperm},
        {SYS_socket, {AF_INET, SOCK_DGRAM, IPPROTO_ICMP}, kNoProtocol, kEperm},
        {SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_SCTP}, kNoProtocol, kEperm},
        {SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_UDP}, kNoProtocol, kEperm},
        {SYS_socket, {AF_INET, SOCK_SEQPACKET}, kEperm, kEperm},
        {SYS_socket, {AF_INET, SOCK_RAW, IPPROTO_ICMP}, kEperm, kEperm},
        {SYS_socket, {AF_INET6, SOCK_RAW | kCloexec}, kEperm, kEperm},
        {SYS_socket, {AF_INET, SOCK_PACKET}, kEperm, kEperm},
        {SYS_socket, {AF_INET | kGarbage, SOCK_RAW | kGarbage}, kEperm, kEperm},
        {SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_ROUTE}, kAllow, kEperm},
        {SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER}, kNoProtocol, kEperm},
        {SYS_socket, {AF_PACKET, SOCK_RAW}, kNoFamily, kNoFamily},
        {SYS_socket, {AF_ALG, SOCK_SEQPACKET}, kNoFamily, kNoFamily},
        {SYS_socket, {AF_ALG | kGarbage, SOCK_SEQPACKET}, kNoFamily, kNoFamily},
        {SYS_socket, {AF_VSOCK, SOCK_STREAM}, kNoFamily, kNoFamily},
        {SYS_socketpair, {AF_UNIX, SOCK_STREAM | kCloexec}, kAllow, kAllow},
        {SYS_socketpair, {AF_UNIX, SOCK_SEQPACKET}, kAllow, kAllow},
        {SYS_socketpair, {AF_UNIX, SOCK_DGRAM}, kAllow, kEperm},
        {SYS_socketpair, {AF_TIPC, SOCK_STREAM}, kNoFamily, kNoFamily},
        {SYS_connect, {3, 0x1000, 16}, kAllow, kEperm},
    }});
}

TEST(SeccompFilter, HighBitsOfTheGuestDoNotHideWhatTheKernelReads) {
    expect_all(std::array<Expectation, 13>{{
        {SYS_ioctl, {0, TIOCSTI}, kEperm, kEperm},
        {SYS_ioctl, {0, TIOCSTI | kGarbage}, kEperm, kEperm},
        {SYS_ioctl, {0, TIOCLINUX | kGarbage}, kEperm, kEperm},
        {SYS_ioctl, {0, TIOCSETD | kGarbage}, kEperm, kEperm},
        {SYS_ioctl, {0, TIOCGWINSZ | kGarbage}, SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW},
        {SYS_setsockopt, {3, IPPROTO_TCP | kGarbage, 31 | kGarbage}, kEperm, kEperm},
        {SYS_setsockopt, {3, SOL_SOCKET, 31}, SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW},
        {SYS_personality, {0x0400000 | kGarbage}, kEperm, kEperm},
        {SYS_personality, {0xffffffff | kGarbage}, SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW},
        {SYS_mknod, {0, S_IFCHR | 0666 | 0x10000}, kEperm, kEperm},
        {SYS_mknod, {0, S_IFBLK | kGarbage}, kEperm, kEperm},
        {SYS_mknodat, {0, 0, S_IFBLK | kGarbage}, kEperm, kEperm},
        {SYS_mknodat, {0, S_IFCHR, S_IFIFO}, SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW},
    }});
}

TEST(SeccompFilter, NamespacesAndThreads) {
    constexpr __u64 kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                              CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |
                              CLONE_CHILD_CLEARTID;
    constexpr auto kAllow = SECCOMP_RET_ALLOW;
    expect_all(std::array<Expectation, 8>{{
        {SYS_clone, {kThread}, kAllow, kAllow},
        {SYS_clone, {CLONE_PARENT | 17}, kEinval, kEinval},
        {SYS_clone, {CLONE_PARENT | CLONE_NEWUSER}, kEperm, kEperm},
        {SYS_clone, {CLONE_VM | CLONE_VFORK | 17}, kAllow, kAllow},
        {SYS_clone, {CLONE_NEWUSER | kGarbage}, kEperm, kEperm},
        {SYS_clone3, {}, kEnosys, kEnosys},
        {SYS_unshare, {CLONE_FILES | CLONE_FS}, kAllow, kAllow},
        {SYS_unshare, {0x80}, kEperm, kEperm},
    }});
    for (const auto flag :
         std::initializer_list<__u64>{CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                      CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET}) {
        expect_all(std::array<Expectation, 2>{{
            {SYS_clone, {kThread | flag}, kEperm, kEperm},
            {SYS_unshare, {flag}, kEperm, kEperm},
        }});
    }
}

TEST(SeccompFilter, OptionsAndLimits) {
    constexpr auto kAllow = SECCOMP_RET_ALLOW;
    constexpr __u64 kPrivate = FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME;
    expect_all(std::array<Expectation, 29>{{
        {SYS_futex, {0, FUTEX_WAIT_BITSET | kPrivate}, kAllow, kAllow},
        {SYS_futex, {0, FUTEX_WAKE_OP | kPrivate}, kAllow, kAllow},
        {SYS_futex, {0, FUTEX_LOCK_PI}, kEnosys, kEnosys},
        {SYS_futex, {0, FUTEX_UNLOCK_PI | kPrivate | kGarbage}, kEnosys, kEnosys},
        {SYS_futex, {0, FUTEX_TRYLOCK_PI}, kEnosys, kEnosys},
        {SYS_futex, {0, FUTEX_CMP_REQUEUE_PI | kPrivate}, kEnosys, kEnosys},
        {SYS_futex, {0, 13 | kPrivate}, kEnosys, kEnosys},
        {SYS_prctl, {PR_SET_NAME}, kAllow, kAllow},
        {SYS_prctl, {PR_SET_SECCOMP}, kAllow, kAllow},
        {SYS_prctl, {PR_SET_MM | kGarbage}, kEperm, kEperm},
        {SYS_prctl, {PR_SCHED_CORE}, kEinval, kEinval},
        {SYS_prctl, {PR_SET_VMA}, kAllow, kAllow},
        {SYS_setrlimit, {RLIMIT_CORE}, kEinval, kEinval},
        {SYS_setrlimit, {RLIMIT_NOFILE}, kAllow, kAllow},
        {SYS_prlimit64, {0, RLIMIT_CORE, 0, 0x1000}, kAllow, kAllow},
        {SYS_prlimit64, {0, RLIMIT_CORE | kGarbage, 0x1000}, kEinval, kEinval},
        {SYS_prlimit64, {0, RLIMIT_CORE, kGarbage}, kEinval, kEinval},
        {SYS_prlimit64, {0, RLIMIT_NOFILE, 0x1000}, kAllow, kAllow},
        {SYS_prlimit64, {1, RLIMIT_NOFILE, 0x1000}, kEperm, kEperm},
        {SYS_prlimit64, {1, RLIMIT_NOFILE, kGarbage}, kEperm, kEperm},
        {SYS_prlimit64, {1, RLIMIT_NOFILE, 0, 0x1000}, kAllow, kAllow},
        {SYS_setpriority, {0, 0, 19}, kAllow, kAllow},
        {SYS_setpriority, {0, 1, 19}, kAllow, kEperm},
        {SYS_sched_setaffinity, {kGarbage, 8, 0x1000}, kAllow, kAllow},
        {SYS_sched_setaffinity, {1, 8, 0x1000}, kAllow, kEperm},
        {SYS_sched_setscheduler, {0, SCHED_BATCH | SCHED_RESET_ON_FORK}, kAllow, kAllow},
        {SYS_sched_setscheduler, {0, SCHED_FIFO | kGarbage}, kEperm, kEperm},
        {SYS_seccomp, {1, SECCOMP_FILTER_FLAG_TSYNC}, kAllow, kAllow},
        {SYS_seccomp, {1, SECCOMP_FILTER_FLAG_NEW_LISTENER | kGarbage}, kEperm, kEperm},
    }});
}

TEST(SeccompFilter, NobodyReadsWithoutATrace) {
    constexpr auto kAllow = SECCOMP_RET_ALLOW;
    constexpr auto kNotOwner = SECCOMP_RET_ERRNO | EPERM;
    expect_all(std::array<Expectation, 9>{{
        {SYS_open, {0, O_RDONLY | O_CLOEXEC}, kAllow, kAllow},
        {SYS_open, {0, O_RDONLY | O_NOATIME}, kNotOwner, kNotOwner},
        {SYS_openat, {0, O_NOATIME, O_RDONLY}, kAllow, kAllow},
        {SYS_openat, {0, 0, O_NOATIME | O_CLOEXEC | kGarbage}, kNotOwner, kNotOwner},
        {SYS_openat2, {}, kEnosys, kEnosys},
        {SYS_open_by_handle_at, {}, kEperm, kEperm},
        {SYS_fcntl, {3, F_SETFL, O_NONBLOCK}, kAllow, kAllow},
        {SYS_fcntl, {3, F_SETFL | kGarbage, O_NOATIME}, kNotOwner, kNotOwner},
        {SYS_fcntl, {3, F_SETFD, O_NOATIME}, kAllow, kAllow},
    }});
}

TEST(SeccompFilter, IpcNeedsANamespaceOfItsOwn) {
    for (const auto number : std::initializer_list<std::uint32_t>{
             SYS_shmget, SYS_shmat, SYS_semget, SYS_semtimedop, SYS_msgget, SYS_mq_open}) {
        expect_all(std::array<Expectation, 1>{{{number, {}, SECCOMP_RET_ALLOW, kEperm}}});
    }
}

}  // namespace
}  // namespace belljar::jar
