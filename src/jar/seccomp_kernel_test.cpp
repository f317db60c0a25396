// The filter in the kernel, instead of in an interpreter.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>

#include "jar/syscall_table.h"
#include "jar/testing/filtered_child.h"

namespace belljar::jar {
namespace {

constexpr std::uint32_t kNumbers = 601;
constexpr FilterOptions kErrnoOwn{.on_refusal = OnRefusal::Errno, .reach = Reach::OwnNamespaces};
constexpr FilterOptions kErrnoHost{.on_refusal = OnRefusal::Errno, .reach = Reach::HostNamespaces};
constexpr FilterOptions kNotifyOwn{.on_refusal = OnRefusal::Notify, .reach = Reach::OwnNamespaces};

// Calls that do not come back to their caller, or not once.
constexpr std::array<std::uint32_t, 9> kWithoutReturn{
    SYS_rt_sigreturn, SYS_pause, SYS_fork, SYS_vfork,          SYS_exit,
    SYS_exit_group,   335,       336,      SYS_restart_syscall};

bool returns(std::uint32_t number) {
    return std::ranges::find(kWithoutReturn, number) == kWithoutReturn.end();
}

constexpr std::array<__u64, 6> kBadArguments{~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL};

// The wait status of a child that makes the call and exits with its errno.
int status_of_call(std::uint32_t number) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(20);
        const long result = ::syscall(number, -1L, -1L, -1L, -1L, -1L, -1L);
        ::_exit(result == -1 ? errno : 0);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
}

// One wait status per number, in memory that a child shares.
class Sweep {
   public:
    Sweep()
        : statuses_(static_cast<int*>(
              ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
    Sweep(const Sweep&) = delete;
    Sweep& operator=(const Sweep&) = delete;
    ~Sweep() { ::munmap(statuses_, kSize); }

    int run() {
        for (std::uint32_t number = 0; number < kNumbers; ++number) {
            if (returns(number)) {
                statuses_[number] = status_of_call(number);
            }
        }
        return 0;
    }

    [[nodiscard]] int status(std::uint32_t number) const { return statuses_[number]; }

   private:
    static constexpr std::size_t kSize = kNumbers * sizeof(int);
    int* statuses_;
};

// Refused and absent calls end as the table says; allowed ones as they do without a filter.
void expect_as_in_table(const Sweep& filtered, const Sweep& free, Reach reach) {
    for (std::uint32_t number = 0; number < kNumbers; ++number) {
        if (!returns(number)) {
            continue;
        }
        const Answer answer = decide(rule_for(treatment_of(number), reach), kBadArguments);
        const bool passes = answer.ruling == Ruling::Allow || answer.ruling == Ruling::Observe;
        const int expected = passes ? free.status(number) : answer.error << 8;
        EXPECT_EQ(filtered.status(number), expected) << number << " " << syscall_name(number);
    }
}

class SeccompKernel : public ::testing::Test {
   protected:
    // Everything as in the other children, but for the filter.
    static void SetUpTestSuite() {
        const pid_t child = ::fork();
        if (child == 0) {
            ::_exit(leave_host() ? free_.run() : 1);
        }
        int status = -1;
        ::waitpid(child, &status, 0);
        ASSERT_EQ(status, 0);
    }

    static Sweep free_;
};

Sweep SeccompKernel::free_;

TEST_F(SeccompKernel, EveryNumberWithErrno) {
    Sweep sweep;
    FilteredChild child(kErrnoOwn, [&] { return sweep.run(); });
    ASSERT_EQ(child.wait(), 0);
    expect_as_in_table(sweep, free_, Reach::OwnNamespaces);
}

TEST_F(SeccompKernel, EveryNumberWithTheHostsNamespaces) {
    Sweep sweep;
    FilteredChild child(kErrnoHost, [&] { return sweep.run(); });
    ASSERT_EQ(child.wait(), 0);
    expect_as_in_table(sweep, free_, Reach::HostNamespaces);
}

TEST_F(SeccompKernel, EveryNumberWithNotification) {
    Sweep sweep;
    FilteredChild child(kNotifyOwn, [&] { return sweep.run(); });
    DenialWatch watch = child.watch();
    std::size_t told = 0;
    ASSERT_EQ(child.serve(watch, [&](const DenialRecord&) { ++told; }), 0);
    expect_as_in_table(sweep, free_, Reach::OwnNamespaces);
    EXPECT_EQ(told, DenialTally::kKinds);
    EXPECT_GT(watch.tally().uncounted(), 0U);
}

TEST(SeccompInstall, NeedsNoNewPrivs) {
    const pid_t child = ::fork();
    if (child == 0) {
        const Result<Fd> listener = install_filter(build_filter(kNotifyOwn), OnRefusal::Notify);
        ::_exit(!listener && listener.error().sys_errno == EPERM ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(SeccompInstall, KernelHasWhatTheFilterReturns) {
    EXPECT_TRUE(check_filter_support(OnRefusal::Notify).has_value());
    EXPECT_TRUE(check_filter_support(OnRefusal::Errno).has_value());
}

int signal_of(const FilterOptions& options, const std::function<int()>& body) {
    FilteredChild child(options, body);
    const int status = child.wait();
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

// Number 20 is getpid for i386 and writev for x86-64. A kernel without i386 sends SIGSEGV.
TEST(SeccompAbi, Interrupt80EndsTheProcess) {
    for (const FilterOptions& options : {kErrnoOwn, kNotifyOwn}) {
        const int number = signal_of(options, [] {
            long result = 20;
            asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
            return 0;
        });
        EXPECT_TRUE(number == SIGSYS || number == SIGSEGV) << number;
    }
}

TEST(SeccompAbi, X32EndsTheProcess) {
    for (const FilterOptions& options : {kErrnoOwn, kNotifyOwn}) {
        EXPECT_EQ(signal_of(options,
                            [] {
                                ::syscall(0x40000000L | SYS_getpid);
                                return 0;
                            }),
                  SIGSYS);
    }
}

}  // namespace
}  // namespace belljar::jar
