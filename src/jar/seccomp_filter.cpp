#include "jar/seccomp_filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <string>

#include "base/assert.h"
#include "jar/bpf_assembler.h"
#include "jar/syscall_table.h"

namespace belljar::jar {
namespace {

using Label = BpfAssembler::Label;

static_assert(std::endian::native == std::endian::little);

// Set in the numbers of the x32 ABI, which has the same architecture value.
constexpr std::uint32_t kX32Bit = 0x40000000;

std::uint32_t action_of(const Answer& answer, OnRefusal on_refusal) {
    const auto error = SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(answer.error);
    switch (answer.ruling) {
        case Ruling::Allow:
            return SECCOMP_RET_ALLOW;
        case Ruling::Observe:
            return on_refusal == OnRefusal::Notify ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;
        case Ruling::Refuse:
            return on_refusal == OnRefusal::Notify ? SECCOMP_RET_USER_NOTIF : error;
        case Ruling::Absent:
            return error;
    }
    return SECCOMP_RET_KILL_PROCESS;
}

std::uint32_t offset_of(const Check& check) {
    const std::size_t half = check.half == Half::Low ? 0 : sizeof(std::uint32_t);
    return static_cast<std::uint32_t>(offsetof(seccomp_data, args) +
                                      check.argument * sizeof(__u64) + half);
}

std::uint16_t branch_of(Test test) {
    switch (test) {
        case Test::Equals:
            return BPF_JEQ;
        case Test::AtLeast:
            return BPF_JGE;
        case Test::AnyBit:
            return BPF_JSET;
    }
    return BPF_JEQ;
}

bool same_operand(const Check& left, const Check& right) {
    return left.argument == right.argument && left.half == right.half && left.mask == right.mask;
}

// Whether everything that leads to a check has left its operand in the accumulator.
bool operand_is_loaded(std::span<const Check> checks, std::size_t index) {
    const auto leads_here = [index](const Next& next) {
        return next.kind == Next::Kind::Check && next.check == index;
    };
    return index != 0 && std::ranges::all_of(checks, [&](const Check& check) {
               return !(leads_here(check.yes) || leads_here(check.no)) ||
                      same_operand(check, checks[index]);
           });
}

// A stretch of numbers with one target, but for some in it that have another.
struct Stretch {
    struct Exception {
        std::uint32_t number;
        Label target;
    };

    std::uint32_t first = 0;
    Label target{};
    std::vector<Exception> exceptions{};
};

struct Range {
    std::uint32_t first;
    std::uint32_t last;
    Label target;
};

class FilterCompiler {
   public:
    explicit FilterCompiler(const FilterOptions& options) : options_(options) {}

    std::vector<sock_filter> compile() {
        // Written first, so that every branch reaches them.
        const Label kill = assembler_.finish_with(SECCOMP_RET_KILL_PROCESS);
        const std::vector<Stretch> stretches = stretches_of(ranges());
        Label start = search(stretches);
        start = assembler_.branch(BPF_JGE, kX32Bit, kill, start);
        start = assembler_.load(offsetof(seccomp_data, nr), start);
        start = assembler_.branch(BPF_JEQ, AUDIT_ARCH_X86_64, start, kill);
        assembler_.load(offsetof(seccomp_data, arch), start);
        return assembler_.program();
    }

   private:
    Label target_of(const Answer& answer) {
        return assembler_.finish_with(action_of(answer, options_.on_refusal));
    }

    Label target_of(const Rule& rule) {
        if (rule.checks.empty()) {
            return target_of(rule.answer);
        }
        const auto known = std::ranges::find(compiled_, rule.checks.data(),
                                             [](const Compiled& done) { return done.checks; });
        if (known != compiled_.end()) {
            return known->label;
        }
        const Label label = compile_checks(rule.checks);
        compiled_.push_back({.checks = rule.checks.data(), .label = label});
        return label;
    }

    Label compile_checks(std::span<const Check> checks) {
        std::vector<Label> labels(checks.size());
        const auto target = [&](const Next& next) {
            return next.kind == Next::Kind::Answer ? target_of(next.answer) : labels[next.check];
        };
        for (std::size_t index = checks.size(); index-- > 0;) {
            const Check& check = checks[index];
            const Label yes = target(check.yes);
            const Label no = target(check.no);
            Label label = assembler_.branch(branch_of(check.test), check.value, yes, no);
            if (!operand_is_loaded(checks, index)) {
                if (check.mask != ~0U) {
                    label = assembler_.mask(check.mask, label);
                }
                label = assembler_.load(offset_of(check), label);
            }
            labels[index] = label;
        }
        return labels.front();
    }

    // Every number below the x32 bit, equal neighbours merged.
    std::vector<Range> ranges() {
        std::vector<Range> found;
        const auto append = [&found](std::uint32_t first, std::uint32_t last, Label target) {
            if (!found.empty() && found.back().target == target) {
                found.back().last = last;
            } else {
                found.push_back({.first = first, .last = last, .target = target});
            }
        };
        const Label unknown = target_of(rule_for(Treatment::Absent, options_.reach));
        std::uint32_t next = 0;
        for (const SyscallEntry& entry : syscall_table()) {
            if (entry.number > next) {
                append(next, entry.number - 1, unknown);
            }
            const Label target = target_of(rule_for(entry.treatment, options_.reach));
            append(entry.number, entry.number, target);
            next = entry.number + 1;
        }
        append(next, kX32Bit - 1, unknown);
        return found;
    }

    // A single number costs one comparison as an exception and two as a stretch of its own.
    static std::vector<Stretch> stretches_of(const std::vector<Range>& ranges) {
        std::vector<Stretch> found;
        for (const Range& range : ranges) {
            const bool single = range.first == range.last;
            if (!found.empty() && range.target == found.back().target) {
                continue;
            }
            if (!found.empty() && single) {
                found.back().exceptions.push_back({.number = range.first, .target = range.target});
            } else {
                found.push_back({.first = range.first, .target = range.target, .exceptions = {}});
            }
        }
        return found;
    }

    // A binary search; the accumulator holds the number.
    Label search(std::span<const Stretch> stretches) {
        if (stretches.size() == 1) {
            Label label = stretches.front().target;
            for (const Stretch::Exception& exception : stretches.front().exceptions) {
                label = assembler_.branch(BPF_JEQ, exception.number, exception.target, label);
            }
            return label;
        }
        const std::size_t middle = stretches.size() / 2;
        const Label above = search(stretches.subspan(middle));
        const Label below = search(stretches.first(middle));
        return assembler_.branch(BPF_JGE, stretches[middle].first, above, below);
    }

    struct Compiled {
        const Check* checks;
        Label label;
    };

    FilterOptions options_;
    BpfAssembler assembler_;
    std::vector<Compiled> compiled_;
};

Result<void> require_no_new_privs() {
    const int set = ::prctl(PR_GET_NO_NEW_PRIVS, 0UL, 0UL, 0UL, 0UL);
    if (set < 0) {
        return fail(system_error("PR_GET_NO_NEW_PRIVS"));
    }
    if (set != 1) {
        return fail(system_error("no_new_privs is not set", EPERM));
    }
    return {};
}

long set_filter(const sock_fprog& program, unsigned long flags) {
    return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

}  // namespace

std::vector<sock_filter> build_filter(const FilterOptions& options) {
    return FilterCompiler(options).compile();
}

Result<Fd> install_filter(std::span<const sock_filter> filter, OnRefusal on_refusal) {
    BJ_TRY_VOID(require_no_new_privs());
    BJ_ASSERT(!filter.empty() && filter.size() <= std::numeric_limits<unsigned short>::max());
    const sock_fprog program{.len = static_cast<unsigned short>(filter.size()),
                             .filter = const_cast<sock_filter*>(filter.data())};
    if (on_refusal == OnRefusal::Errno) {
        if (set_filter(program, 0) != 0) {
            return fail(system_error("SECCOMP_SET_MODE_FILTER"));
        }
        return Fd();
    }
    // Once we have taken a notification, a signal no longer interrupts the call, so that no call is
    // told twice. Since Linux 5.19; without it everything else is the same.
    long listener = set_filter(
        program, SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    if (listener < 0 && errno == EINVAL) {
        listener = set_filter(program, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    }
    if (listener < 0) {
        return fail(system_error("SECCOMP_FILTER_FLAG_NEW_LISTENER"));
    }
    return Fd(static_cast<int>(listener));
}

Result<void> check_filter_support(OnRefusal on_refusal) {
    struct Action {
        std::uint32_t value;
        const char* name;
    };
    constexpr std::array kActions{
        Action{.value = SECCOMP_RET_KILL_PROCESS, .name = "kill_process"},
        Action{.value = SECCOMP_RET_ERRNO, .name = "errno"},
        Action{.value = SECCOMP_RET_USER_NOTIF, .name = "user_notif"},
    };
    for (const Action& action : kActions) {
        if (action.value == SECCOMP_RET_USER_NOTIF && on_refusal != OnRefusal::Notify) {
            continue;
        }
        if (::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0UL, &action.value) != 0) {
            Error error = system_error("SECCOMP_GET_ACTION_AVAIL");
            error.code = ErrorCode::Unsupported;
            error.message = std::string("the kernel has no seccomp action ") + action.name;
            return fail(std::move(error));
        }
    }
    return {};
}

}  // namespace belljar::jar
