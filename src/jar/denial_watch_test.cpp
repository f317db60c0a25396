#include "jar/denial_watch.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/socket.h>

#include <cstring>
#include <thread>

#include "jar/testing/filtered_child.h"

namespace belljar::jar {
namespace {

constexpr FilterOptions kOptions{.on_refusal = OnRefusal::Notify, .reach = Reach::OwnNamespaces};

struct Observation {
    int status = -1;
    std::vector<DenialRecord> told;
    std::vector<DenialRecord> counted;
    std::uint64_t uncounted = 0;
};

Observation observe(const std::function<int()>& body) {
    FilteredChild child(kOptions, body);
    DenialWatch watch = child.watch();
    Observation seen;
    seen.status =
        child.serve(watch, [&](const DenialRecord& record) { seen.told.push_back(record); });
    const std::span<const DenialRecord> records = watch.tally().records();
    seen.counted.assign(records.begin(), records.end());
    seen.uncounted = watch.tally().uncounted();
    return seen;
}

TEST(DenialWatch, RefusesAndTellsOnce) {
    const Observation seen = observe([] {
        for (int round = 0; round < 3; ++round) {
            if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != -1 || errno != EPERM) {
                return 1;
            }
        }
        return ::socket(AF_ALG, SOCK_SEQPACKET, 0) == -1 && errno == EAFNOSUPPORT ? 0 : 2;
    });
    EXPECT_EQ(seen.status, 0);
    ASSERT_EQ(seen.told.size(), 2U);
    EXPECT_EQ(seen.told[0].number, static_cast<std::uint32_t>(SYS_ptrace));
    EXPECT_EQ(seen.told[0].error, EPERM);
    EXPECT_EQ(seen.told[0].count, 1U);
    EXPECT_EQ(seen.told[1].number, static_cast<std::uint32_t>(SYS_socket));
    EXPECT_EQ(seen.told[1].error, EAFNOSUPPORT);
    EXPECT_EQ(seen.told[1].key & 0xffffffffU, static_cast<std::uint64_t>(AF_ALG));
    ASSERT_EQ(seen.counted.size(), 2U);
    EXPECT_EQ(seen.counted[0].count, 3U);
}

TEST(DenialWatch, TellsTheArgumentWithoutWhatTheKernelIgnores) {
    const Observation seen = observe([] {
        ::syscall(SYS_ioctl, 0, 0xabcdef0100000000UL | TIOCSTI, 0);
        ::syscall(SYS_ioctl, 0, static_cast<unsigned long>(TIOCSTI), 0);
        ::syscall(SYS_unshare, static_cast<unsigned long>(CLONE_NEWUSER | CLONE_FS));
        return 0;
    });
    ASSERT_EQ(seen.told.size(), 2U);
    EXPECT_EQ(seen.told[0].key, static_cast<std::uint64_t>(TIOCSTI));
    EXPECT_EQ(seen.counted[0].count, 2U);
    EXPECT_EQ(seen.told[1].key, static_cast<std::uint64_t>(CLONE_NEWUSER));
}

sockaddr_in inet(const char* address, std::uint16_t port) {
    sockaddr_in made{};
    made.sin_family = AF_INET;
    made.sin_port = htons(port);
    ::inet_pton(AF_INET, address, &made.sin_addr);
    return made;
}

int connect_to(const sockaddr_in& address) {
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

TEST(DenialWatch, LetsConnectGoOnAndTellsWhereTo) {
    const Observation seen = observe([] {
        if (connect_to(inet("127.0.0.1", 9)) != 0 || connect_to(inet("127.0.0.53", 53)) != 0) {
            return 1;
        }
        if (connect_to(inet("192.0.2.1", 80)) != -1 || errno != ENETUNREACH) {
            return 2;
        }
        return ::connect(-1, nullptr, 16) == -1 && errno == EBADF ? 0 : 3;
    });
    EXPECT_EQ(seen.status, 0);
    ASSERT_EQ(seen.told.size(), 2U);
    const auto address_of = [&](std::size_t index) {
        sockaddr_in address{};
        EXPECT_EQ(seen.told[index].address.length, sizeof address);
        std::memcpy(&address, seen.told[index].address.bytes.data(), sizeof address);
        return address;
    };
    EXPECT_EQ(seen.told[0].error, 0);
    EXPECT_EQ(ntohs(address_of(0).sin_port), 53);
    EXPECT_EQ(address_of(1).sin_addr.s_addr, inet("192.0.2.1", 80).sin_addr.s_addr);
}

TEST(DenialWatch, SaysOnceThatTheInternetIsSoughtBeforeTheSocketIsThere) {
    FilteredChild child(kOptions, [] {
        const Fd local(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        for (const int family : {AF_INET, AF_INET6, AF_INET}) {
            const Fd socket(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
            if (!local.valid() || !socket.valid()) {
                return 1;
            }
        }
        return 0;
    });
    DenialWatch watch = child.watch();
    int said = 0;
    watch.on_internet([&] { ++said; });
    EXPECT_EQ(child.serve(watch, [](const DenialRecord&) { FAIL() << "it is no denial"; }), 0);
    EXPECT_EQ(said, 1);
}

TEST(DenialWatch, AFloodStaysBounded) {
    constexpr int kCalls = 100'000;
    FilteredChild child(kOptions, [] {
        for (int round = 0; round < kCalls; ++round) {
            if (::syscall(SYS_keyctl, 0, 0, 0, 0, 0) != -1 || errno != EPERM) {
                return 1;
            }
        }
        return 0;
    });
    DenialWatch watch = child.watch();
    std::size_t told = 0;
    const std::size_t before = ::mallinfo2().uordblks;
    const int status = child.serve(watch, [&](const DenialRecord&) { ++told; });
    const std::size_t after = ::mallinfo2().uordblks;
    EXPECT_EQ(status, 0);
    EXPECT_LE(after, before + 4096);
    EXPECT_EQ(told, 1U);
    ASSERT_EQ(watch.tally().records().size(), 1U);
    EXPECT_EQ(watch.tally().records()[0].count, std::uint64_t{kCalls});
}

TEST(DenialWatch, ManyKindsOfOneCallDoNotHideOthers) {
    constexpr unsigned long kKinds = 1000;
    const Observation seen = observe([] {
        for (unsigned long kind = 0; kind < kKinds; ++kind) {
            ::syscall(SYS_personality, ADDR_NO_RANDOMIZE | kind << 20U);
        }
        ::syscall(SYS_bpf, 0, 0, 0);
        return 0;
    });
    EXPECT_EQ(seen.told.size(), DenialTally::kKindsPerCall + 1);
    EXPECT_EQ(seen.uncounted, kKinds - DenialTally::kKindsPerCall);
    EXPECT_EQ(seen.told.back().number, static_cast<std::uint32_t>(SYS_bpf));
}

bool waits_for_answer(const DenialWatch& watch) {
    pollfd entry{.fd = watch.listener().get(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, 20'000) == 1 && (entry.revents & POLLIN) != 0;
}

// The call was announced, but nobody is left to be answered.
TEST(DenialWatch, ACallerThatDiesIsNoError) {
    FilteredChild child(kOptions, [] { return static_cast<int>(::syscall(SYS_bpf, 0, 0, 0)); });
    DenialWatch watch = child.watch();
    ASSERT_TRUE(waits_for_answer(watch));
    ASSERT_TRUE(child.process().signal(SIGKILL).has_value());
    child.wait();
    bool told = false;
    EXPECT_TRUE(watch.on_readable([&](const DenialRecord&) { told = true; }).has_value());
    EXPECT_FALSE(told);
}

TEST(DenialWatch, WithoutAListenerTheCallStillFails) {
    FilteredChild child(kOptions, [] {
        // Blocks until the listener is gone.
        return ::syscall(SYS_bpf, 0, 0, 0) == -1 && errno == ENOSYS ? 0 : 1;
    });
    {
        const DenialWatch watch = child.watch();
        ASSERT_TRUE(waits_for_answer(watch));
    }
    EXPECT_EQ(child.wait(), 0);
}

// A filter of the guest's with a listener of its own would be asked before ours.
TEST(DenialWatch, GuestsMakeNoListener) {
    const Observation seen = observe([] {
        sock_filter notify = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
        const sock_fprog program{.len = 1, .filter = &notify};
        return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                         &program) == -1 &&
                       errno == EPERM
                   ? 0
                   : 1;
    });
    EXPECT_EQ(seen.status, 0);
    EXPECT_EQ(seen.told.size(), 1U);
}

TEST(DenialWatch, AnswersThreadsAtTheSameTime) {
    const Observation seen = observe([] {
        std::vector<std::thread> threads;
        for (int index = 0; index < 8; ++index) {
            threads.emplace_back([] {
                for (int round = 0; round < 100; ++round) {
                    ::syscall(SYS_bpf, 0, 0, 0);
                }
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        return 0;
    });
    EXPECT_EQ(seen.status, 0);
    ASSERT_EQ(seen.counted.size(), 1U);
    EXPECT_EQ(seen.counted[0].count, 800U);
}

}  // namespace
}  // namespace belljar::jar
