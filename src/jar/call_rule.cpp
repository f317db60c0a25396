#include "jar/call_rule.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "base/assert.h"

namespace belljar::jar {
namespace {

constexpr Answer kAllow{.ruling = Ruling::Allow, .error = 0};
constexpr Answer kObserve{.ruling = Ruling::Observe, .error = 0};
constexpr Answer kRefuse{.ruling = Ruling::Refuse, .error = EPERM};
constexpr Answer kNoFamily{.ruling = Ruling::Refuse, .error = EAFNOSUPPORT};
constexpr Answer kNoNetlink{.ruling = Ruling::Refuse, .error = EPROTONOSUPPORT};
// Programs that switch core dumps off take EINVAL for a system without them and go on.
constexpr Answer kNoCoreLimit{.ruling = Ruling::Refuse, .error = EINVAL};
constexpr Answer kAbsent{.ruling = Ruling::Absent, .error = ENOSYS};
// Go asks for MPTCP first and takes this answer for a kernel without it.
constexpr Answer kNoProtocol{.ruling = Ruling::Absent, .error = EPROTONOSUPPORT};
constexpr Answer kNotOwner{.ruling = Ruling::Absent, .error = EPERM};
constexpr Answer kNoOption{.ruling = Ruling::Absent, .error = EINVAL};

// Names that the headers of Linux 6.1 lack, or that clash between headers.
constexpr std::uint32_t kPrSetMm = 35;
constexpr std::uint32_t kPrSetSpeculationCtrl = 53;
constexpr std::uint32_t kPrSetMdwe = 65;
constexpr std::uint32_t kPrGetMdwe = 66;
constexpr std::uint32_t kTcpUlp = 31;
constexpr std::uint32_t kCloneNewTime = 0x80;
constexpr std::uint32_t kPersonalityLinux32 = 0x8;
constexpr std::uint32_t kPersonalityUnameRelease26 = 0x20000;
constexpr std::uint32_t kPersonalityQuery = 0xffffffff;

constexpr std::uint32_t kSocketType = 0xf;  // the kernel's SOCK_TYPE_MASK; above it are flags
constexpr std::uint32_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                         CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                                         CLONE_NEWNET | kCloneNewTime;

constexpr Next go(std::uint8_t check) {
    return {.kind = Next::Kind::Check, .check = check, .answer = {}};
}

constexpr Next give(const Answer& answer) {
    return {.kind = Next::Kind::Answer, .check = 0, .answer = answer};
}

struct Operand {
    std::uint8_t argument = 0;
    Half half = Half::Low;
    std::uint32_t mask = ~0U;
};

constexpr Check check(const Operand& operand, Test test, std::uint32_t value, const Next& yes,
                      const Next& no) {
    return {.argument = operand.argument,
            .half = operand.half,
            .mask = operand.mask,
            .test = test,
            .value = value,
            .yes = yes,
            .no = no};
}

constexpr Operand low(std::uint8_t argument, std::uint32_t mask = ~0U) {
    return {.argument = argument, .half = Half::Low, .mask = mask};
}

constexpr Operand high(std::uint8_t argument) {
    return {.argument = argument, .half = Half::High, .mask = ~0U};
}

// socket(family, type, protocol) and socketpair. For the internet only TCP and UDP: every other
// combination makes the kernel look for a module on the host. A raw socket is told as such. The
// first of them has init look at what the kernel counts in the jar's network.
constexpr std::array kSocketChecks{
    check(low(0), Test::Equals, AF_UNIX, go(4), go(1)),
    check(low(0), Test::Equals, AF_INET, go(6), go(2)),
    check(low(0), Test::Equals, AF_INET6, go(6), go(3)),
    check(low(0), Test::Equals, AF_NETLINK, go(11), give(kNoFamily)),
    // 4: AF_UNIX
    check(low(1, kSocketType), Test::Equals, SOCK_SEQPACKET, give(kAllow), go(5)),
    check(low(1, kSocketType), Test::AtLeast, SOCK_RAW, give(kRefuse), give(kAllow)),
    // 6: AF_INET and AF_INET6
    check(low(1, kSocketType), Test::Equals, SOCK_STREAM, go(8), go(7)),
    check(low(1, kSocketType), Test::Equals, SOCK_DGRAM, go(9), give(kRefuse)),
    check(low(2), Test::Equals, IPPROTO_TCP, give(kObserve), go(10)),
    check(low(2), Test::Equals, IPPROTO_UDP, give(kObserve), go(10)),
    check(low(2), Test::Equals, 0, give(kObserve), give(kNoProtocol)),
    // 11: AF_NETLINK, for getifaddrs
    check(low(2), Test::Equals, NETLINK_ROUTE, give(kAllow), give(kNoNetlink)),
};

// Where the network is the host's: a family that would be allowed elsewhere is not permitted.
constexpr std::array kHostSocketChecks{
    check(low(0), Test::Equals, AF_UNIX, give(kRefuse), go(1)),
    check(low(0), Test::Equals, AF_INET, give(kRefuse), go(2)),
    check(low(0), Test::Equals, AF_INET6, give(kRefuse), go(3)),
    check(low(0), Test::Equals, AF_NETLINK, give(kRefuse), give(kNoFamily)),
};

// One end of a datagram pair can still send to any name, so only connected types remain.
constexpr std::array kHostSocketPairChecks{
    check(low(0), Test::Equals, AF_UNIX, go(1), give(kNoFamily)),
    check(low(1, kSocketType), Test::Equals, SOCK_STREAM, give(kAllow), go(2)),
    check(low(1, kSocketType), Test::Equals, SOCK_SEQPACKET, give(kAllow), give(kRefuse)),
};

constexpr std::array kSetSockOptChecks{
    check(low(1), Test::Equals, IPPROTO_TCP, go(1), give(kAllow)),
    check(low(2), Test::Equals, kTcpUlp, give(kRefuse), give(kAllow)),
};

// In clone, the bit of CLONE_NEWTIME belongs to the number of a signal, which no signal reaches.
// CLONE_PARENT would make a child of whoever is outside the jar and has the guest as a child;
// nobody there would reap it, and without that no init can end. The kernel gives an init the same
// answer.
constexpr std::array kNamespacesChecks{
    check(low(0), Test::AnyBit, kNewNamespaces, give(kRefuse), go(1)),
    check(low(0), Test::AnyBit, CLONE_PARENT, give(kNoOption), give(kAllow)),
};

constexpr std::array kIoctlChecks{
    check(low(1), Test::Equals, TIOCSTI, give(kRefuse), go(1)),
    check(low(1), Test::Equals, TIOCLINUX, give(kRefuse), go(2)),
    check(low(1), Test::Equals, TIOCSETD, give(kRefuse), give(kAllow)),
};

// What is opened with it is read without a trace. The kernel says the same to who does not own the
// file, so callers go on without. openat2 has its flags behind a pointer.
constexpr std::array kOpenChecks{
    check(low(1), Test::AnyBit, O_NOATIME, give(kNotOwner), give(kAllow)),
};

constexpr std::array kOpenatChecks{
    check(low(2), Test::AnyBit, O_NOATIME, give(kNotOwner), give(kAllow)),
};

constexpr std::array kFcntlChecks{
    check(low(1), Test::Equals, F_SETFL, go(1), give(kAllow)),
    check(low(2), Test::AnyBit, O_NOATIME, give(kNotOwner), give(kAllow)),
};

constexpr std::uint32_t kFutexCommand = static_cast<std::uint32_t>(FUTEX_CMD_MASK);

// glibc takes ENOSYS for a kernel without priority inheritance and says ENOTSUP to its caller; on
// EPERM it would go on and abort. Commands: 0 to 5 and 9 to 10 are without it.
constexpr std::array kFutexChecks{
    check(low(1, kFutexCommand), Test::AtLeast, FUTEX_WAIT_REQUEUE_PI, give(kAbsent), go(1)),
    check(low(1, kFutexCommand), Test::AtLeast, FUTEX_WAIT_BITSET, give(kAllow), go(2)),
    check(low(1, kFutexCommand), Test::AtLeast, FUTEX_LOCK_PI, give(kAbsent), give(kAllow)),
};

// Up to the control of speculation all are harmless without a capability, except for moving the
// boundaries of one's memory map. Later ones by name; a kernel without an option says EINVAL.
constexpr std::array kPrctlChecks{
    check(low(0), Test::AtLeast, kPrSetSpeculationCtrl + 1, go(2), go(1)),
    check(low(0), Test::Equals, kPrSetMm, give(kRefuse), give(kAllow)),
    check(low(0), Test::Equals, kPrSetMdwe, give(kAllow), go(3)),
    check(low(0), Test::Equals, kPrGetMdwe, give(kAllow), go(4)),
    check(low(0), Test::Equals, PR_SET_VMA, give(kAllow), give(kNoOption)),
};

// Neither executable data nor a fixed layout of the address space.
constexpr std::array kPersonalityChecks{
    check(low(0), Test::Equals, kPersonalityQuery, give(kAllow), go(1)),
    check(low(0), Test::AnyBit, ~(kPersonalityLinux32 | kPersonalityUnameRelease26), give(kRefuse),
          give(kAllow)),
};

// The jar sets RLIMIT_CORE to 1: the one value that stops a piped core pattern, which would run a
// program on the host over the guest's memory. 0 would not stop it.
constexpr std::array kSetRlimitChecks{
    check(low(0), Test::Equals, RLIMIT_CORE, give(kNoCoreLimit), give(kAllow)),
};

// Nor the limits of another process: init has the guest's user id.
constexpr std::array kPrlimitChecks{
    check(low(1), Test::Equals, RLIMIT_CORE, go(1), go(3)),
    check(low(2), Test::Equals, 0, go(2), give(kNoCoreLimit)),
    check(high(2), Test::Equals, 0, give(kAllow), give(kNoCoreLimit)),
    check(low(0), Test::Equals, 0, give(kAllow), go(4)),
    check(low(2), Test::Equals, 0, go(5), give(kRefuse)),
    check(high(2), Test::Equals, 0, give(kAllow), give(kRefuse)),
};

// Whom the call is about, where others than the guest's own processes are in reach: only itself.
constexpr std::array kFirstIsSelfChecks{
    check(low(0), Test::Equals, 0, give(kAllow), give(kRefuse)),
};

constexpr std::array kSecondIsSelfChecks{
    check(low(1), Test::Equals, 0, give(kAllow), give(kRefuse)),
};

// The bits that character and block devices share and no other type of file has.
constexpr std::uint32_t kDeviceMask = S_IFMT & ~(S_IFCHR ^ S_IFBLK);

constexpr std::array kMknodChecks{
    check(low(1, kDeviceMask), Test::Equals, S_IFCHR, give(kRefuse), give(kAllow)),
};

constexpr std::array kMknodatChecks{
    check(low(2, kDeviceMask), Test::Equals, S_IFCHR, give(kRefuse), give(kAllow)),
};

constexpr std::uint32_t kPolicy = ~static_cast<std::uint32_t>(SCHED_RESET_ON_FORK);

constexpr std::array kSchedulerChecks{
    check(low(1, kPolicy), Test::Equals, SCHED_OTHER, give(kAllow), go(1)),
    check(low(1, kPolicy), Test::Equals, SCHED_BATCH, give(kAllow), go(2)),
    check(low(1, kPolicy), Test::Equals, SCHED_IDLE, give(kAllow), give(kRefuse)),
};

constexpr std::array kHostSchedulerChecks{
    check(low(0), Test::Equals, 0, go(1), give(kRefuse)),
    check(low(1, kPolicy), Test::Equals, SCHED_OTHER, give(kAllow), go(2)),
    check(low(1, kPolicy), Test::Equals, SCHED_BATCH, give(kAllow), go(3)),
    check(low(1, kPolicy), Test::Equals, SCHED_IDLE, give(kAllow), give(kRefuse)),
};

// The newest filter with a listener answers first: with one of its own, a guest could let through
// what ours refuses.
constexpr std::array kSeccompChecks{
    check(low(1), Test::AnyBit, SECCOMP_FILTER_FLAG_NEW_LISTENER, give(kRefuse), give(kAllow)),
};

constexpr Rule by(std::span<const Check> checks) { return {.answer = kAbsent, .checks = checks}; }

constexpr Rule always(const Answer& answer) { return {.answer = answer, .checks = {}}; }

Rule socket_rule(Treatment treatment, Reach reach) {
    if (reach == Reach::OwnNamespaces) {
        return by(kSocketChecks);
    }
    return by(treatment == Treatment::Socket ? std::span<const Check>(kHostSocketChecks)
                                             : std::span<const Check>(kHostSocketPairChecks));
}

constexpr std::uint64_t low_word(__u64 argument, std::uint32_t mask = ~0U) {
    return static_cast<std::uint32_t>(argument) & mask;
}

bool holds(const Check& check, std::span<const __u64, 6> arguments) {
    const __u64 argument = arguments[check.argument];
    const __u64 half = check.half == Half::Low ? argument : argument >> 32U;
    const std::uint32_t operand = static_cast<std::uint32_t>(half) & check.mask;
    switch (check.test) {
        case Test::Equals:
            return operand == check.value;
        case Test::AtLeast:
            return operand >= check.value;
        case Test::AnyBit:
            return (operand & check.value) != 0;
    }
    return false;
}

}  // namespace

Rule rule_for(Treatment treatment, Reach reach) {
    const bool own = reach == Reach::OwnNamespaces;
    switch (treatment) {
        case Treatment::Allow:
            return always(kAllow);
        case Treatment::Refuse:
            return always(kRefuse);
        case Treatment::Absent:
            return always(kAbsent);
        case Treatment::IpcObject:
            return always(own ? kAllow : kRefuse);
        case Treatment::Connect:
            return always(own ? kObserve : kRefuse);
        case Treatment::Socket:
        case Treatment::SocketPair:
            return socket_rule(treatment, reach);
        case Treatment::SetSockOpt:
            return by(kSetSockOptChecks);
        case Treatment::Namespaces:
            return by(kNamespacesChecks);
        case Treatment::Ioctl:
            return by(kIoctlChecks);
        case Treatment::Open:
            return by(kOpenChecks);
        case Treatment::Openat:
            return by(kOpenatChecks);
        case Treatment::Fcntl:
            return by(kFcntlChecks);
        case Treatment::Futex:
            return by(kFutexChecks);
        case Treatment::Prctl:
            return by(kPrctlChecks);
        case Treatment::Personality:
            return by(kPersonalityChecks);
        case Treatment::SetRlimit:
            return by(kSetRlimitChecks);
        case Treatment::Prlimit:
            return by(kPrlimitChecks);
        case Treatment::FirstIsSelf:
            return own ? always(kAllow) : by(kFirstIsSelfChecks);
        case Treatment::SecondIsSelf:
            return own ? always(kAllow) : by(kSecondIsSelfChecks);
        case Treatment::Mknod:
            return by(kMknodChecks);
        case Treatment::Mknodat:
            return by(kMknodatChecks);
        case Treatment::Scheduler:
            return own ? by(kSchedulerChecks) : by(kHostSchedulerChecks);
        case Treatment::Seccomp:
            return by(kSeccompChecks);
    }
    return always(kAbsent);
}

Answer decide(const Rule& rule, std::span<const __u64, 6> arguments) {
    if (rule.checks.empty()) {
        return rule.answer;
    }
    std::size_t at = 0;
    while (true) {
        const Check& check = rule.checks[at];
        const Next& next = holds(check, arguments) ? check.yes : check.no;
        if (next.kind == Next::Kind::Answer) {
            return next.answer;
        }
        BJ_ASSERT(next.check > at && next.check < rule.checks.size());
        at = next.check;
    }
}

std::uint64_t key_argument(Treatment treatment, std::span<const __u64, 6> arguments) {
    switch (treatment) {
        case Treatment::Socket:
        case Treatment::SocketPair:
            // Raw sockets and odd netlink protocols are refusals of their own.
            return low_word(arguments[0]) | low_word(arguments[1], kSocketType) << 32U;
        case Treatment::Namespaces:
            return low_word(arguments[0], kNewNamespaces);
        case Treatment::Ioctl:
        case Treatment::Prlimit:
            return low_word(arguments[1]);
        case Treatment::Scheduler:
            return low_word(arguments[1], kPolicy);
        case Treatment::Mknod:
            return low_word(arguments[1], S_IFMT);
        case Treatment::Mknodat:
            return low_word(arguments[2], S_IFMT);
        case Treatment::Prctl:
        case Treatment::Personality:
        case Treatment::SetRlimit:
            return low_word(arguments[0]);
        default:
            return 0;
    }
}

}  // namespace belljar::jar
