#include "outcome/refused_calls.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>

namespace belljar::outcome {
namespace {

using execution::Denial;
using execution::DenialSource;
using execution::DeniedCall;

constexpr std::uint64_t kRaw = std::uint64_t{3} << 32U;  // SOCK_RAW

struct Row {
    DeniedCall call;
    std::string what;
    std::string rule;
};

void check(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
        const std::vector<Denial> denials = explain_refused_calls({row.call});
        ASSERT_EQ(denials.size(), 1U) << row.what;
        EXPECT_EQ(denials.front().what, row.what);
        EXPECT_EQ(denials.front().rule, row.rule) << row.what;
        EXPECT_TRUE(denials.front().hint.ends_with('.')) << row.what;
        EXPECT_EQ(denials.front().source, DenialSource::Kernel);
    }
}

TEST(RefusedCalls, NameWhatANetworkWouldBeNeededFor) {
    check({{{.call = "connect", .address = "93.184.216.34:443"},
            "tried to reach 93.184.216.34:443",
            "network.off"},
           {{.call = "sendto", .address = "[2001:db8::1]:53"},
            "tried to reach [2001:db8::1]:53",
            "network.off"},
           {{.call = "connect"}, "tried to reach the network", "network.off"},
           {{.call = "connect", .address = "127.0.0.1:53"},
            "tried to look up the name of a host at 127.0.0.1:53",
            "network.off"},
           {{.call = "sendmmsg", .address = "[::1]:53"},
            "tried to look up the name of a host at [::1]:53",
            "network.off"},
           {{.call = "connect", .address = "127.0.0.1:5353"},
            "tried to reach 127.0.0.1:5353",
            "network.off"},
           {{.call = "socket", .argument = 38},
            "tried to open a socket of the family AF_ALG",
            "seccomp.socket_family"},
           {{.call = "socketpair", .argument = 40},
            "tried to open a socket of the family AF_VSOCK",
            "seccomp.socket_family"},
           {{.call = "socket", .argument = 17 | kRaw},
            "tried to open a socket of the family AF_PACKET",
            "seccomp.socket_family"},
           {{.call = "socket", .argument = 4711},
            "tried to open a socket of the family 4711",
            "seccomp.socket_family"},
           {{.call = "socket", .argument = 2 | kRaw},
            "tried to open a raw socket of the family AF_INET",
            "seccomp.raw_socket"}});
}

TEST(RefusedCalls, NameWhatTheKernelKeepsClosed) {
    check({{{.call = "unshare", .argument = 0x10020000},
            "tried to make or enter a namespace: unshare CLONE_NEWNS|CLONE_NEWUSER",
            "seccomp.namespace"},
           {{.call = "clone", .argument = 0x40000011},
            "tried to make or enter a namespace: clone CLONE_NEWNET",
            "seccomp.namespace"},
           {{.call = "setns", .argument = 0x40000000},
            "tried to make or enter a namespace: setns",
            "seccomp.namespace"},
           {{.call = "mount"}, "tried to change what is mounted: mount", "seccomp.mount"},
           {{.call = "ptrace"}, "tried to look into another process: ptrace", "seccomp.trace"},
           {{.call = "keyctl"}, "tried to use the kernel's key store: keyctl", "seccomp.keys"},
           {{.call = "bpf"},
            "tried to use a part of the kernel that is closed here: bpf",
            "seccomp.kernel"},
           {{.call = "ioctl", .argument = 0x5412},
            "tried to control a terminal: TIOCSTI",
            "seccomp.terminal"},
           {{.call = "ioctl", .argument = 0x100005412},
            "tried to control a terminal: TIOCSTI",
            "seccomp.terminal"},
           {{.call = "ioctl", .argument = 0x1234},
            "tried a system call that is not allowed here: ioctl 0x1234",
            "seccomp.call"},
           {{.call = "setuid"}, "tried to change its user or group: setuid", "seccomp.identity"},
           {{.call = "mknodat"}, "tried to make a device node: mknodat", "seccomp.device"},
           {{.call = "prlimit64", .argument = RLIMIT_CORE},
            "tried to change its limit on core dumps: prlimit64",
            "seccomp.core_limit"},
           {{.call = "prlimit64", .argument = RLIMIT_NOFILE},
            "tried a system call that is not allowed here: prlimit64",
            "seccomp.call"},
           {{.call = "clock_settime"}, "tried to set the clock: clock_settime", "seccomp.clock"},
           {{.call = "vmsplice"},
            "tried a system call that is not allowed here: vmsplice",
            "seccomp.call"}});
}

TEST(RefusedCalls, OneKindIsOneDenialWithItsCount) {
    const std::vector<Denial> denials =
        explain_refused_calls({{.call = "connect", .address = "192.0.2.1:80", .count = 3},
                               {.call = "mount"},
                               {.call = "connect", .address = "192.0.2.2:80"},
                               {.call = "sendto", .address = "192.0.2.1:80"}});
    ASSERT_EQ(denials.size(), 2U);
    EXPECT_EQ(denials[0].what, "tried to reach 192.0.2.1:80, 192.0.2.2:80 (5 times in all)");
    EXPECT_EQ(denials[1].rule, "seccomp.mount");
}

TEST(RefusedCalls, ManyAttemptsAreCounted) {
    std::vector<DeniedCall> calls;
    for (int host = 1; host <= 100; ++host) {
        calls.push_back({.call = "connect", .address = "192.0.2." + std::to_string(host) + ":80"});
    }
    const std::vector<Denial> denials = explain_refused_calls(calls);
    ASSERT_EQ(denials.size(), 1U);
    EXPECT_EQ(denials.front().what,
              "tried to reach 192.0.2.1:80, 192.0.2.2:80, 192.0.2.3:80, 192.0.2.4:80 and 96 more");
}

TEST(RefusedCalls, WhatALibraryTriesAnywayIsLeftOut) {
    EXPECT_TRUE(explain_refused_calls({{.call = "clone3", .sys_errno = ENOSYS}}).empty());
    EXPECT_EQ(explain_refused_calls({{.call = "clone3", .sys_errno = EPERM}}).size(), 1U);
    EXPECT_TRUE(explain_refused_calls({}).empty());
}

}  // namespace
}  // namespace belljar::outcome
