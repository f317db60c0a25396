#include "keeper/launch_mode.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "jar/seqpacket.h"

namespace belljar::keeper {
namespace {

// Clear of accounts and of other wardens; used only where a container gives us the right to.
constexpr uid_t kFirstNestedUser = 1'000'000'000;
constexpr uid_t kNestedUsers = 1'000'000;

bool has_capability(unsigned capability) {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, 2> sets{};
    return ::syscall(SYS_capget, &header, sets.data()) == 0 &&
           (sets[capability / 32].effective & (1U << (capability % 32))) != 0;
}

bool ended_well(pid_t child) {
    int status = 1;
    return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

// A /proc of one's own is what containers refuse that allow the namespaces.
bool can_mount_proc() {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                        ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV, nullptr) == 0
                    ? 0
                    : 1);
    }
    return ended_well(child);
}

// Tried in a process of its own: what a kernel, a container or a security module refuses cannot be
// known in advance.
bool can_make(int namespaces) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(::unshare(namespaces) == 0 && can_mount_proc() ? 0 : 1);
    }
    return ended_well(child);
}

constexpr int kNamespaces =
    CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | CLONE_NEWCGROUP;

bool is_possible(jar::Mode mode) {
    switch (mode) {
        case jar::Mode::Root:
            return ::geteuid() == 0 && has_capability(CAP_SYS_ADMIN) &&
                   can_make(kNamespaces | CLONE_NEWUSER);
        case jar::Mode::Rootless:
            // With user id 0 guests would have it on the host, too.
            return ::geteuid() != 0 && can_make(kNamespaces | CLONE_NEWUSER);
        case jar::Mode::Nested:
            return true;
    }
    return false;
}

Result<void> write_map(pid_t process, const char* name, const std::string& text) {
    const std::string path = "/proc/" + std::to_string(process) + "/" + name;
    const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.valid() ||
        ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        return fail(system_error(name));
    }
    return {};
}

struct IdRange {
    uid_t first = 0;
    uid_t count = 0;
};

// The line of /etc/subuid or /etc/subgid for an account: name:first:count.
std::optional<IdRange> find_subordinate_ids(const char* file, const std::string& account) {
    const std::string text = "\n" + read_file(file, mebibytes(1)).value_or("");
    const std::size_t line = text.find("\n" + account + ":");
    if (account.empty() || line == std::string::npos) {
        return std::nullopt;
    }
    IdRange range;
    const char* end = text.data() + text.size();
    const char* begin = text.data() + line + account.size() + 2;
    const auto first = std::from_chars(begin, end, range.first);
    const auto count = std::from_chars(std::min(first.ptr + 1, end), end, range.count);
    return first.ec == std::errc{} && count.ec == std::errc{} && range.count > 0
               ? std::optional(range)
               : std::nullopt;
}

std::string account_name() {
    const passwd* account = ::getpwuid(::geteuid());
    return account == nullptr ? std::to_string(::geteuid()) : account->pw_name;
}

// The system's own helper, which checks that the ids are ours to use. Maps our id to 0 and the
// subordinate ones to 1 and following.
bool map_with_helper(const char* program, pid_t process, uid_t own, const IdRange& range) {
    const pid_t child = ::fork();
    if (child == 0) {
        std::vector<std::string> words{program,
                                       std::to_string(process),
                                       "0",
                                       std::to_string(own),
                                       "1",
                                       "1",
                                       std::to_string(range.first),
                                       std::to_string(range.count)};
        std::vector<char*> arguments;
        for (std::string& word : words) {
            arguments.push_back(word.data());
        }
        arguments.push_back(nullptr);
        ::execv(program, arguments.data());
        ::_exit(127);
    }
    return ended_well(child);
}

uid_t map_subordinate_ids(pid_t warden) {
    const std::string account = account_name();
    const auto users = find_subordinate_ids("/etc/subuid", account);
    const auto groups = find_subordinate_ids("/etc/subgid", account);
    if (!users || !groups || !map_with_helper("/usr/bin/newuidmap", warden, ::geteuid(), *users)) {
        return 0;
    }
    return map_with_helper("/usr/bin/newgidmap", warden, ::getegid(), *groups)
               ? std::min(users->count, groups->count)
               : 0;
}

}  // namespace

Result<jar::Mode> choose_mode(std::string_view wanted) {
    for (const jar::Mode mode : {jar::Mode::Root, jar::Mode::Rootless, jar::Mode::Nested}) {
        const bool named = wanted == jar::name_of(mode);
        if ((named || wanted == "auto") && is_possible(mode)) {
            return mode;
        }
        if (named) {
            break;
        }
    }
    return fail(
        ErrorCode::Unsupported,
        "the launch mode is not possible here: root needs root with CAP_SYS_ADMIN, rootless "
        "an ordinary user with user namespaces");
}

Result<void> enter_own_namespaces(const Fd& keeper) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
        return fail(system_error("unshare CLONE_NEWUSER"));
    }
    const std::byte ready{1};
    BJ_TRY_VOID(jar::send_packet(keeper, std::span(&ready, 1), {}));
    BJ_TRY(const jar::Packet answer, jar::receive_packet(keeper));
    if (answer.data.empty()) {
        return fail(system_error("the keeper gave no ids", ESRCH));
    }
    if (::setresgid(0, 0, 0) != 0 || ::setresuid(0, 0, 0) != 0) {
        return fail(system_error("setresuid"));
    }
    return {};
}

Result<UserIds> give_ids(pid_t warden, const Fd& socket) {
    BJ_TRY(const jar::Packet ready, jar::receive_packet(socket));
    if (ready.data.empty()) {
        return fail(system_error("the warden is gone", ESRCH));
    }
    const UserIds ids{.first = 1, .count = map_subordinate_ids(warden)};
    if (ids.count == 0) {
        BJ_TRY_VOID(write_map(warden, "setgroups", "deny"));
        BJ_TRY_VOID(write_map(warden, "gid_map", "0 " + std::to_string(::getegid()) + " 1\n"));
        BJ_TRY_VOID(write_map(warden, "uid_map", "0 " + std::to_string(::geteuid()) + " 1\n"));
    }
    const std::byte proceed{1};
    BJ_TRY_VOID(jar::send_packet(socket, std::span(&proceed, 1), {}));
    return ids;
}

UserIds ids_of_nested() {
    const bool may_change = has_capability(CAP_SETUID) && has_capability(CAP_SETGID) &&
                            has_capability(CAP_CHOWN) && has_capability(CAP_KILL);
    return {.first = kFirstNestedUser, .count = may_change ? kNestedUsers : 0};
}

}  // namespace belljar::keeper
