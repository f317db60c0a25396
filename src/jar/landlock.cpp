#include "jar/landlock.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "jar/scratch.h"

namespace belljar::jar {
namespace {

// Numbers and structures of the kernel's interface; the header of Debian 12 knows version 2 only.
constexpr unsigned kVersionQuestion = 1U << 0U;
constexpr unsigned kRulePathBeneath = 1;

struct RulesetAttribute {
    std::uint64_t files;
    std::uint64_t network;
    std::uint64_t scoped;
};

struct [[gnu::packed]] PathBeneath {
    std::uint64_t allowed;
    std::int32_t parent;
};

constexpr std::uint64_t bits(unsigned first, unsigned last) {
    return ((1ULL << (last + 1)) - 1) & ~((1ULL << first) - 1);
}

constexpr std::uint64_t kExecute = 1U << 0U;
constexpr std::uint64_t kWriteFile = 1U << 1U;
constexpr std::uint64_t kReadFile = 1U << 2U;
constexpr std::uint64_t kReadDirectory = 1U << 3U;
constexpr std::uint64_t kMakeDevices = (1U << 6U) | (1U << 11U);  // character and block
constexpr std::uint64_t kTruncate = 1U << 14U;
constexpr std::uint64_t kRead = kExecute | kReadFile | kReadDirectory;
constexpr std::uint64_t kTcp = bits(0, 1);     // bind and connect
constexpr std::uint64_t kScopes = bits(0, 1);  // abstract sockets and signals
constexpr std::uint64_t kSignals = bits(1, 1);
constexpr std::uint32_t kFirstWithScopes = 6;

// What each version added to the rights on files: all of 1, then REFER, TRUNCATE, -, IOCTL_DEV.
std::uint64_t known_file_rights(std::uint32_t abi) {
    if (abi >= 5) {
        return bits(0, 15);
    }
    return abi >= 3 ? bits(0, 14) : abi == 2 ? bits(0, 13) : bits(0, 12);
}

struct Rule {
    const char* path;
    std::uint64_t rights;
};

constexpr std::uint64_t kEverythingButDevices = bits(0, 14) & ~kMakeDevices;
constexpr std::uint64_t kUseDevice = kReadFile | kWriteFile | kTruncate;

// Inside a tree of the jar's own.
constexpr std::array<Rule, 9> kOwnTree{{{"/", kRead},
                                        {"/workspace", kEverythingButDevices},
                                        {"/tmp", kEverythingButDevices},
                                        {"/dev/shm", kEverythingButDevices},
                                        {"/dev/null", kUseDevice},
                                        {"/dev/zero", kUseDevice},
                                        {"/dev/full", kUseDevice},
                                        {"/dev/random", kReadFile},
                                        {"/dev/urandom", kReadFile}}};

// In a tree that is shared with others: what an interpreter needs, by name, and nothing else.
constexpr std::array<Rule, 17> kSharedTree{{{"/usr", kRead},
                                            {"/bin", kRead},
                                            {"/sbin", kRead},
                                            {"/lib", kRead},
                                            {"/lib32", kRead},
                                            {"/lib64", kRead},
                                            {"/etc/alternatives", kRead},
                                            {"/etc/ld.so.cache", kReadFile},
                                            {"/etc/localtime", kReadFile},
                                            {"/etc/ssl/certs", kRead},
                                            {"/etc/fonts", kRead},
                                            {"/etc/matplotlibrc", kReadFile},
                                            {"/dev/null", kUseDevice},
                                            {"/dev/zero", kUseDevice},
                                            {"/dev/full", kUseDevice},
                                            {"/dev/random", kReadFile},
                                            {"/dev/urandom", kReadFile}}};

Result<void> allow(const Fd& ruleset, const Fd& place, std::uint64_t rights) {
    struct stat status{};
    if (::fstat(place.get(), &status) != 0) {
        return fail(system_error("fstat"));
    }
    // Rights that only a directory can have are an error on a file.
    constexpr std::uint64_t kFileRights =
        kExecute | kWriteFile | kReadFile | kTruncate | bits(15, 15);
    const PathBeneath rule{.allowed = S_ISDIR(status.st_mode) ? rights : rights & kFileRights,
                           .parent = place.get()};
    if (::syscall(SYS_landlock_add_rule, ruleset.get(), kRulePathBeneath, &rule, 0) != 0) {
        return fail(system_error("landlock_add_rule"));
    }
    return {};
}

Result<Fd> create_ruleset(const RulesetAttribute& attribute, std::size_t size) {
    Fd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attribute, size, 0)));
    if (!ruleset.valid()) {
        return fail(system_error("landlock_create_ruleset"));
    }
    return ruleset;
}

Result<void> restrict_self(const Fd& ruleset) {
    if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
        return fail(system_error("landlock_restrict_self"));
    }
    return {};
}

enum class Absence { Error, Fine };

Result<void> allow_all(const Fd& ruleset, std::span<const Rule> rules, std::uint64_t known,
                       Absence absence) {
    for (const Rule& rule : rules) {
        const Fd place(::open(rule.path, O_PATH | O_CLOEXEC));
        if (!place.valid() && absence == Absence::Fine && errno == ENOENT) {
            continue;
        }
        if (!place.valid()) {
            return fail(system_error(std::string("open ") + rule.path));
        }
        BJ_TRY_VOID(allow(ruleset, place, rule.rights & known));
    }
    return {};
}

// The two directories of the jar, and not the one that they are in.
Result<void> allow_scratch(const Fd& ruleset, const Fd& scratch, std::uint64_t rights) {
    for (const char* name : {kWorkspaceName, kTmpName}) {
        const Fd place(::openat(scratch.get(), name, O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!place.valid()) {
            return fail(system_error(std::string("open ") + name));
        }
        BJ_TRY_VOID(allow(ruleset, place, rights));
    }
    return {};
}

}  // namespace

std::uint32_t find_landlock_abi() {
    const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kVersionQuestion);
    return version < 0 ? 0 : static_cast<std::uint32_t>(version);
}

bool is_fence(std::uint32_t abi, Mode mode, bool own_user) {
    constexpr std::uint32_t kWatchesTruncation = 3;
    constexpr std::uint32_t kWatchesSignals = 6;
    if (mode != Mode::Nested) {
        return abi > 0;
    }
    return abi >= (own_user ? kWatchesTruncation : kWatchesSignals);
}

Result<void> enter_landlock(const Spec& spec) {
    const std::uint32_t abi = spec.message.landlock_abi;
    if (abi == 0) {
        return {};
    }
    const bool nested = spec.message.mode == Mode::Nested;
    const std::uint64_t known = known_file_rights(abi);
    // With a network namespace of its own a jar may use its loopback; without one nothing.
    const RulesetAttribute attribute{.files = known,
                                     .network = nested && abi >= 4 ? kTcp : 0,
                                     .scoped = abi >= kFirstWithScopes ? kScopes : 0};
    const std::size_t size = abi >= kFirstWithScopes ? sizeof(attribute) : abi >= 4 ? 16 : 8;
    BJ_TRY(const Fd ruleset, create_ruleset(attribute, size));
    if (nested) {
        BJ_TRY_VOID(allow_all(ruleset, kSharedTree, known, Absence::Fine));
        BJ_TRY_VOID(allow_scratch(ruleset, spec.workspace, kEverythingButDevices & known));
    } else {
        BJ_TRY_VOID(allow_all(ruleset, kOwnTree, known, Absence::Error));
    }
    return restrict_self(ruleset);
}

Result<Everybody> confine_signals(std::uint32_t abi) {
    if (abi < kFirstWithScopes) {
        return Everybody::Anyone;
    }
    const RulesetAttribute attribute{.files = 0, .network = 0, .scoped = kSignals};
    BJ_TRY(const Fd ruleset, create_ruleset(attribute, sizeof(attribute)));
    BJ_TRY_VOID(restrict_self(ruleset));
    return Everybody::OneJar;
}

}  // namespace belljar::jar
