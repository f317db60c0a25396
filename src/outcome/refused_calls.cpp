#include "outcome/refused_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <string_view>

namespace belljar::outcome {
namespace {

using execution::Denial;
using execution::DeniedCall;

constexpr std::size_t kNamedAttempts = 4;  // of one kind; more are counted

// A kind of attempt. The action continues "the program ..."; what exactly was tried follows it.
struct Kind {
    std::string_view rule;
    std::string_view action;
    std::string_view hint;
};

constexpr Kind kConnection{"network.off", "tried to reach", kNetworkHint};
constexpr Kind kNameLookup{"network.off", "tried to look up the name of a host at", kNetworkHint};
constexpr Kind kSocketFamily{"seccomp.socket_family", "tried to open a socket of the family",
                             "Only AF_UNIX, AF_INET and AF_INET6 sockets can be opened here."};
constexpr Kind kRawSocket{"seccomp.raw_socket", "tried to open a raw socket of the family",
                          "Raw packets are not available; use stream or datagram sockets."};
constexpr Kind kNamespace{"seccomp.namespace", "tried to make or enter a namespace:",
                          "No further namespace or container can be made in here; start the "
                          "program directly."};
constexpr Kind kMount{"seccomp.mount", "tried to change what is mounted:",
                      "Mounts cannot be changed; work in /workspace and /tmp."};
constexpr Kind kTrace{"seccomp.trace", "tried to look into another process:",
                      "Debuggers and tracers do not work here; print what you need to know."};
constexpr Kind kKeys{"seccomp.keys", "tried to use the kernel's key store:",
                     "The key store is closed; keep values in variables or files."};
constexpr Kind kKernel{"seccomp.kernel", "tried to use a part of the kernel that is closed here:",
                       "Use ordinary files, processes and sockets instead."};
constexpr Kind kTerminal{"seccomp.terminal", "tried to control a terminal:",
                         "There is no terminal; use standard input and output."};
constexpr Kind kIdentity{"seccomp.identity", "tried to change its user or group:",
                         "The program keeps the one user it runs as; nothing here needs another."};
constexpr Kind kDevice{"seccomp.device", "tried to make a device node:",
                       "Only ordinary files, directories, links and pipes can be made."};
constexpr Kind kCoreLimit{"seccomp.core_limit", "tried to change its limit on core dumps:",
                          "Core dumps are off; leave that limit alone."};
constexpr Kind kClock{"seccomp.clock", "tried to set the clock:", "The clock can only be read."};
constexpr Kind kOther{"seccomp.call", "tried a system call that is not allowed here:",
                      "Do it with ordinary calls of the language or its library."};

struct KnownCall {
    std::string_view call;
    const Kind* kind;
};

constexpr auto kKnownCalls = std::to_array<KnownCall>({
    {"connect", &kConnection},
    {"sendto", &kConnection},
    {"sendmsg", &kConnection},
    {"sendmmsg", &kConnection},
    {"unshare", &kNamespace},
    {"setns", &kNamespace},
    {"clone", &kNamespace},
    {"clone3", &kNamespace},
    {"mount", &kMount},
    {"umount", &kMount},
    {"umount2", &kMount},
    {"pivot_root", &kMount},
    {"chroot", &kMount},
    {"fsopen", &kMount},
    {"fsconfig", &kMount},
    {"fsmount", &kMount},
    {"fspick", &kMount},
    {"open_tree", &kMount},
    {"open_tree_attr", &kMount},
    {"move_mount", &kMount},
    {"mount_setattr", &kMount},
    {"statmount", &kMount},
    {"listmount", &kMount},
    {"swapon", &kMount},
    {"swapoff", &kMount},
    {"quotactl", &kMount},
    {"quotactl_fd", &kMount},
    {"ptrace", &kTrace},
    {"process_vm_readv", &kTrace},
    {"process_vm_writev", &kTrace},
    {"process_madvise", &kTrace},
    {"process_mrelease", &kTrace},
    {"pidfd_getfd", &kTrace},
    {"kcmp", &kTrace},
    {"keyctl", &kKeys},
    {"add_key", &kKeys},
    {"request_key", &kKeys},
    {"init_module", &kKernel},
    {"finit_module", &kKernel},
    {"delete_module", &kKernel},
    {"create_module", &kKernel},
    {"kexec_load", &kKernel},
    {"kexec_file_load", &kKernel},
    {"bpf", &kKernel},
    {"perf_event_open", &kKernel},
    {"io_uring_setup", &kKernel},
    {"io_uring_enter", &kKernel},
    {"io_uring_register", &kKernel},
    {"userfaultfd", &kKernel},
    {"iopl", &kKernel},
    {"ioperm", &kKernel},
    {"modify_ldt", &kKernel},
    {"personality", &kKernel},
    {"reboot", &kKernel},
    {"acct", &kKernel},
    {"syslog", &kKernel},
    {"fanotify_init", &kKernel},
    {"fanotify_mark", &kKernel},
    {"name_to_handle_at", &kKernel},
    {"open_by_handle_at", &kKernel},
    {"memfd_secret", &kKernel},
    {"lookup_dcookie", &kKernel},
    {"seccomp", &kKernel},
    {"sethostname", &kKernel},
    {"setdomainname", &kKernel},
    {"ioctl", &kTerminal},
    {"vhangup", &kTerminal},
    {"setuid", &kIdentity},
    {"setgid", &kIdentity},
    {"setreuid", &kIdentity},
    {"setregid", &kIdentity},
    {"setresuid", &kIdentity},
    {"setresgid", &kIdentity},
    {"setfsuid", &kIdentity},
    {"setfsgid", &kIdentity},
    {"setgroups", &kIdentity},
    {"capset", &kIdentity},
    {"mknod", &kDevice},
    {"mknodat", &kDevice},
    {"settimeofday", &kClock},
    {"clock_settime", &kClock},
    {"clock_adjtime", &kClock},
    {"adjtimex", &kClock},
    {"stime", &kClock},
});

struct NamedNumber {
    std::uint64_t number;
    std::string_view name;
};

// The kernel's own numbers; not every C library knows the newer ones.
constexpr auto kFamilies = std::to_array<NamedNumber>(
    {{0, "AF_UNSPEC"},     {1, "AF_UNIX"},      {2, "AF_INET"},     {3, "AF_AX25"},
     {4, "AF_IPX"},        {5, "AF_APPLETALK"}, {8, "AF_ATMPVC"},   {9, "AF_X25"},
     {10, "AF_INET6"},     {15, "AF_KEY"},      {16, "AF_NETLINK"}, {17, "AF_PACKET"},
     {20, "AF_ATMSVC"},    {21, "AF_RDS"},      {24, "AF_PPPOX"},   {26, "AF_LLC"},
     {27, "AF_IB"},        {28, "AF_MPLS"},     {29, "AF_CAN"},     {30, "AF_TIPC"},
     {31, "AF_BLUETOOTH"}, {33, "AF_RXRPC"},    {35, "AF_PHONET"},  {36, "AF_IEEE802154"},
     {37, "AF_CAIF"},      {38, "AF_ALG"},      {39, "AF_NFC"},     {40, "AF_VSOCK"},
     {41, "AF_KCM"},       {42, "AF_QIPCRTR"},  {43, "AF_SMC"},     {44, "AF_XDP"},
     {45, "AF_MCTP"}});

constexpr auto kNamespaceFlags = std::to_array<NamedNumber>({{0x00020000, "CLONE_NEWNS"},
                                                             {0x02000000, "CLONE_NEWCGROUP"},
                                                             {0x04000000, "CLONE_NEWUTS"},
                                                             {0x08000000, "CLONE_NEWIPC"},
                                                             {0x10000000, "CLONE_NEWUSER"},
                                                             {0x20000000, "CLONE_NEWPID"},
                                                             {0x40000000, "CLONE_NEWNET"},
                                                             {0x00000080, "CLONE_NEWTIME"}});

constexpr auto kTerminalRequests = std::to_array<NamedNumber>(
    {{0x5412, "TIOCSTI"}, {0x541C, "TIOCLINUX"}, {0x5423, "TIOCSETD"}, {0x541D, "TIOCCONS"}});

std::string_view name_in(std::span<const NamedNumber> table, std::uint64_t number) {
    const auto found = std::ranges::find(table, number, &NamedNumber::number);
    return found == table.end() ? std::string_view() : found->name;
}

// The kernel looks at 32 bits of a family, a request or a resource only.
std::uint32_t low_half(const DeniedCall& call) { return static_cast<std::uint32_t>(call.argument); }

bool is_socket(const DeniedCall& call) {
    return call.call == "socket" || call.call == "socketpair";
}

bool is_limit(const DeniedCall& call) {
    return call.call == "setrlimit" || call.call == "prlimit64";
}

// A resolver without configuration asks the machine it runs on.
bool is_name_lookup(const DeniedCall& call) {
    const bool loopback = call.address.starts_with("127.") || call.address.starts_with("[::1]");
    return loopback && call.address.ends_with(":53");
}

// An allowed family can be refused for its type only.
bool is_raw(const DeniedCall& call) {
    return low_half(call) == AF_INET || low_half(call) == AF_INET6 || low_half(call) == AF_UNIX;
}

const Kind& kind_of(const DeniedCall& call) {
    if (is_socket(call)) {
        return is_raw(call) ? kRawSocket : kSocketFamily;
    }
    if (is_limit(call)) {
        return low_half(call) == RLIMIT_CORE ? kCoreLimit : kOther;
    }
    if (call.call == "ioctl" && name_in(kTerminalRequests, low_half(call)).empty()) {
        return kOther;
    }
    const auto known = std::ranges::find(kKnownCalls, call.call, &KnownCall::call);
    const Kind& kind = known == kKnownCalls.end() ? kOther : *known->kind;
    return &kind == &kConnection && is_name_lookup(call) ? kNameLookup : kind;
}

std::string family_name(const DeniedCall& call) {
    const std::string_view name = name_in(kFamilies, low_half(call));
    return name.empty() ? fmt::format("{}", low_half(call)) : std::string(name);
}

std::string call_with_flags(const DeniedCall& call) {
    std::vector<std::string_view> names;
    for (const NamedNumber& flag : kNamespaceFlags) {
        if ((call.argument & flag.number) != 0) {
            names.push_back(flag.name);
        }
    }
    return names.empty() ? call.call : fmt::format("{} {}", call.call, fmt::join(names, "|"));
}

std::string call_with_request(const DeniedCall& call) {
    const std::string_view name = name_in(kTerminalRequests, low_half(call));
    return name.empty() ? fmt::format("{} {:#x}", call.call, low_half(call)) : std::string(name);
}

// What exactly was tried.
std::string attempt_of(const DeniedCall& call) {
    if (is_socket(call)) {
        return family_name(call);
    }
    if (&kind_of(call) == &kNamespace && call.call != "setns") {
        return call_with_flags(call);
    }
    if (call.call == "ioctl" || call.call == "prctl") {
        return call_with_request(call);
    }
    if (!call.address.empty()) {
        return call.address;
    }
    return &kind_of(call) == &kConnection ? "the network" : call.call;
}

// The C library tries it first for every new thread and falls back.
bool is_routine(const DeniedCall& call) {
    return call.call == "clone3" && call.sys_errno == ENOSYS;
}

struct Group {
    const Kind* kind = nullptr;
    std::vector<std::string> attempts{};
    std::uint64_t count = 0;
};

void add_to(std::vector<Group>& groups, const DeniedCall& call) {
    const Kind* kind = &kind_of(call);
    auto group = std::ranges::find(groups, kind, &Group::kind);
    if (group == groups.end()) {
        group = groups.insert(groups.end(), Group{.kind = kind});
    }
    group->count += call.count;
    const std::string attempt = attempt_of(call);
    if (std::ranges::find(group->attempts, attempt) == group->attempts.end()) {
        group->attempts.push_back(attempt);
    }
}

Denial to_denial(const Group& group) {
    const std::size_t named = std::min(group.attempts.size(), kNamedAttempts);
    std::string what = fmt::format("{} {}", group.kind->action,
                                   fmt::join(std::span(group.attempts).first(named), ", "));
    if (named < group.attempts.size()) {
        what += fmt::format(" and {} more", group.attempts.size() - named);
    }
    if (group.count > group.attempts.size()) {
        what += fmt::format(" ({} times in all)", group.count);
    }
    return {.what = std::move(what),
            .rule = std::string(group.kind->rule),
            .hint = std::string(group.kind->hint),
            .source = execution::DenialSource::Kernel};
}

}  // namespace

std::vector<Denial> explain_refused_calls(const std::vector<DeniedCall>& calls) {
    std::vector<Group> groups;
    for (const DeniedCall& call : calls) {
        if (!is_routine(call)) {
            add_to(groups, call);
        }
    }
    std::vector<Denial> denials;
    denials.reserve(groups.size());
    for (const Group& group : groups) {
        denials.push_back(to_denial(group));
    }
    return denials;
}

}  // namespace belljar::outcome
