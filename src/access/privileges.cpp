#include "access/privileges.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <limits>

#include "jar/identity.h"

namespace belljar::access {
namespace {

constexpr const char* kAccountName = "belljar";

Result<void> verify_unprivileged(const Account& account) {
    uid_t real = 0;
    uid_t effective = 0;
    uid_t saved = 0;
    if (::getresuid(&real, &effective, &saved) != 0) {
        return fail(system_error("getresuid"));
    }
    const bool changed = real == account.user && effective == account.user && saved == account.user;
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, 2> sets{};
    if (::syscall(SYS_capget, &header, sets.data()) != 0) {
        return fail(system_error("capget"));
    }
    const bool powerless = (sets[0].permitted | sets[1].permitted) == 0;
    if (!changed || !powerless || ::setresuid(0, 0, 0) == 0) {
        return fail(system_error("privileges are left", EPERM));
    }
    return {};
}

}  // namespace

Result<Account> find_account(const std::string& name, std::uint32_t fallback) {
    const char* wanted = name.empty() ? kAccountName : name.c_str();
    if (const passwd* entry = ::getpwnam(wanted); entry != nullptr) {
        if (entry->pw_uid == 0) {
            return fail(ErrorCode::InvalidArgument, "server.user must not be root");
        }
        return Account{.user = entry->pw_uid, .group = entry->pw_gid};
    }
    if (name.empty()) {
        return Account{.user = fallback, .group = fallback};
    }
    uid_t number = 0;
    const char* end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data(), end, number);
    if (error != std::errc{} || rest != end || number == 0 ||
        number == std::numeric_limits<uid_t>::max()) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("server.user names no account of this host: \"{}\"", name));
    }
    return Account{.user = number, .group = number};
}

Result<void> drop_privileges(const Account& account) {
    BJ_TRY_VOID(jar::drop_groups());
    if (::setresgid(account.group, account.group, account.group) != 0) {
        return fail(system_error("setresgid"));
    }
    if (::setresuid(account.user, account.user, account.user) != 0) {
        return fail(system_error("setresuid"));
    }
    BJ_TRY_VOID(jar::forbid_new_privileges());
    return verify_unprivileged(account);
}

}  // namespace belljar::access
