#include "jar/identity.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "jar/spec.h"

namespace belljar::jar {
namespace {

constexpr unsigned long kNoArgument = 0;

Result<void> write_proc_file(const Fd& process, const char* name, const std::string& text) {
    const Fd file(::openat(process.get(), name, O_WRONLY | O_CLOEXEC));
    if (!file.valid()) {
        return fail(system_error(std::string("open ") + name));
    }
    // The kernel takes a map in one write or not at all.
    if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        return fail(system_error(std::string("write ") + name));
    }
    return {};
}

// To enter namespaces of a jar by the pidfd of its init, and what setns() asks for besides.
constexpr std::array<unsigned, 3> kOfZygotes{CAP_SYS_ADMIN, CAP_SYS_CHROOT, CAP_SYS_PTRACE};

// All but those in `kept`.
Result<void> drop_bounding_set(std::span<const unsigned> kept = {}) {
    for (unsigned long capability = 0;; ++capability) {
        if (std::ranges::count(kept, capability) != 0 ||
            ::prctl(PR_CAPBSET_DROP, capability, kNoArgument, kNoArgument, kNoArgument) == 0) {
            continue;
        }
        const Error refused = system_error("PR_CAPBSET_DROP");
        const int held =
            ::prctl(PR_CAPBSET_READ, capability, kNoArgument, kNoArgument, kNoArgument);
        if (held < 0) {
            return {};  // beyond the last capability of this kernel
        }
        if (held == 1) {
            return fail(refused);
        }
    }
}

Result<void> verify_none_held() {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, 2> sets{};
    if (::syscall(SYS_capget, &header, sets.data()) != 0) {
        return fail(system_error("capget"));
    }
    for (const __user_cap_data_struct& set : sets) {
        if ((set.effective | set.permitted | set.inheritable) != 0) {
            return fail(system_error("capabilities are left", EPERM));
        }
    }
    return {};
}

// Ambient ones are always held and inheritable, too, of which there are none.
Result<void> verify_none_reachable() {
    for (unsigned long capability = 0;; ++capability) {
        const int held =
            ::prctl(PR_CAPBSET_READ, capability, kNoArgument, kNoArgument, kNoArgument);
        if (held < 0) {
            return {};
        }
        if (held != 0) {
            return fail(system_error("capabilities are left", EPERM));
        }
    }
}

Result<void> clear_ambient_set() {
    if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, kNoArgument, kNoArgument, kNoArgument) !=
        0) {
        return fail(system_error("PR_CAP_AMBIENT_CLEAR_ALL"));
    }
    return {};
}

Result<void> clear_held_sets() {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    const std::array<__user_cap_data_struct, 2> none{};
    if (::syscall(SYS_capset, &header, none.data()) != 0) {
        return fail(system_error("capset"));
    }
    return verify_none_held();
}

Result<void> set_ids(uid_t user) {
    if (::setresgid(user, user, user) != 0) {
        return fail(system_error("setresgid"));
    }
    if (::setresuid(user, user, user) != 0) {
        return fail(system_error("setresuid"));
    }
    return {};
}

}  // namespace

Result<void> drop_groups() {
    if (::setgroups(0, nullptr) != 0) {
        return fail(system_error("setgroups"));
    }
    return {};
}

Result<void> take_outer_identity(const Spec& spec) {
    BJ_TRY_VOID(set_ids(spec.message.outer_user));
    // The change has made our files in /proc root's, and the map is one of them. Nobody else has
    // this id, and init hides itself again before there is a guest.
    if (::prctl(PR_SET_DUMPABLE, 1UL, kNoArgument, kNoArgument, kNoArgument) != 0) {
        return fail(system_error("PR_SET_DUMPABLE"));
    }
    return {};
}

Result<Fd> open_own_process() {
    Fd process(::open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!process.valid()) {
        return fail(system_error("open /proc/self"));
    }
    return process;
}

Result<void> map_identity(const Fd& own_process, const Spec& spec) {
    const std::string map =
        std::to_string(kInnerUser) + " " + std::to_string(spec.message.outer_user) + " 1\n";
    BJ_TRY_VOID(write_proc_file(own_process, "setgroups", "deny"));
    BJ_TRY_VOID(write_proc_file(own_process, "gid_map", map));
    return write_proc_file(own_process, "uid_map", map);
}

Result<void> enter_user_namespace() {
    if (::unshare(CLONE_NEWUSER) != 0) {
        return fail(system_error("unshare CLONE_NEWUSER"));
    }
    return {};
}

Result<void> take_identity() { return set_ids(kInnerUser); }

Result<void> take_host_identity(const Spec& spec) {
    if (spec.message.own_user != 1) {
        return {};
    }
    // While it can still be done; who may change the user id may not always do this.
    [[maybe_unused]] const Result<void> emptied = drop_bounding_set();
    BJ_TRY_VOID(drop_groups());
    return set_ids(spec.message.outer_user);
}

Result<void> drop_capabilities() {
    // No program run by user id 0 gains anything either, should such an id ever exist inside.
    constexpr unsigned long kBits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
                                    SECBIT_NO_CAP_AMBIENT_RAISE |
                                    SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    if (::prctl(PR_SET_SECUREBITS, kBits, kNoArgument, kNoArgument, kNoArgument) != 0) {
        return fail(system_error("PR_SET_SECUREBITS"));
    }
    BJ_TRY_VOID(clear_ambient_set());
    BJ_TRY_VOID(drop_bounding_set());
    BJ_TRY_VOID(clear_held_sets());
    return verify_none_reachable();
}

Result<void> drop_held_capabilities() {
    BJ_TRY_VOID(clear_ambient_set());
    return clear_held_sets();
}

Result<void> keep_zygote_capabilities() {
    BJ_TRY_VOID(clear_ambient_set());
    BJ_TRY_VOID(drop_bounding_set(kOfZygotes));
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, 2> sets{};
    for (const unsigned capability : kOfZygotes) {
        sets[capability / 32].permitted |= 1U << (capability % 32);
        sets[capability / 32].effective |= 1U << (capability % 32);
    }
    if (::syscall(SYS_capset, &header, sets.data()) != 0) {
        return fail(system_error("capset"));
    }
    return {};
}

Result<void> forbid_new_privileges() {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1UL, kNoArgument, kNoArgument, kNoArgument) != 0) {
        return fail(system_error("PR_SET_NO_NEW_PRIVS"));
    }
    return {};
}

}  // namespace belljar::jar
