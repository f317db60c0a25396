#pragma once

#include <linux/seccomp.h>

#include <cstdint>
#include <span>

namespace belljar::jar {

// Whether the guest has network and IPC namespaces of its own, or would meet those of the host.
enum class Reach : std::uint8_t { OwnNamespaces, HostNamespaces };

enum class Ruling : std::uint8_t {
    Allow,
    Observe,  // allowed, and told: no decision rests on it
    Refuse,   // fails with an errno, and told
    Absent,   // fails with the errno of a kernel that does not have it, silently: callers fall back
};

struct Answer {
    Ruling ruling = Ruling::Absent;
    int error = 0;

    bool operator==(const Answer&) const = default;
};

// The filter sees each argument as two halves. The kernel reads most arguments as int, so that
// only the low half may decide: what stands in the other half is the guest's to choose.
enum class Half : std::uint8_t { Low, High };

enum class Test : std::uint8_t { Equals, AtLeast, AnyBit };

// Where a check leads: to a later check of the same rule, or to an answer.
struct Next {
    enum class Kind : std::uint8_t { Answer, Check };
    Kind kind = Kind::Answer;
    std::uint8_t check = 0;
    Answer answer{};
};

// One comparison of one half of one argument, after `mask`.
struct Check {
    std::uint8_t argument = 0;
    Half half = Half::Low;
    std::uint32_t mask = ~0U;
    Test test = Test::Equals;
    std::uint32_t value = 0;
    Next yes{};
    Next no{};
};

// What decides about a call: the answer, or, where there are any, the checks from the first on.
// seccomp_filter.cpp compiles them for the kernel and decide() walks them here, so that the two
// cannot differ.
struct Rule {
    Answer answer{};
    std::span<const Check> checks{};
};

// How a call is treated; the table in syscall_table.cpp gives each number one of these.
enum class Treatment : std::uint8_t {
    Allow,
    Refuse,
    Absent,
    IpcObject,    // System V and POSIX objects: allowed in an IPC namespace of one's own
    Connect,      // told with its address; refused where the network is the host's
    Socket,       // by family, type and protocol
    SocketPair,   // the same, and still allowed where the network is the host's
    SetSockOpt,   // not TCP_ULP
    Namespaces,   // clone and unshare: no new namespace
    Ioctl,        // no command that types into or rebuilds a terminal
    Open,         // not O_NOATIME
    Openat,       // the same
    Fcntl,        // the same
    Futex,        // no priority inheritance
    Prctl,        // an allowlist of options
    Personality,  // an allowlist of values
    SetRlimit,    // not RLIMIT_CORE
    Prlimit,      // the same, and not that of another process; reading is allowed
    FirstIsSelf,  // changes how a process runs: that of others only in a pid namespace of one's own
    SecondIsSelf,  // the same with the process as second argument
    Mknod,         // no device
    Mknodat,       // no device
    Scheduler,     // no real-time policy
    Seccomp,       // no listener
};

[[nodiscard]] Rule rule_for(Treatment treatment, Reach reach);

[[nodiscard]] Answer decide(const Rule& rule, std::span<const __u64, 6> arguments);

// The argument that tells two refusals of one call apart, without what the kernel ignores: the
// family of a socket, the command of an ioctl, the flags of a clone. 0 if none does.
[[nodiscard]] std::uint64_t key_argument(Treatment treatment, std::span<const __u64, 6> arguments);

}  // namespace belljar::jar
