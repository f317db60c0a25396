#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace belljar::access {

// The account that the server runs as after it gave up root.
struct Account {
    uid_t user = 0;
    gid_t group = 0;
};

// `name` is an account or a number. Empty: the account "belljar" if there is one, else the number
// `fallback`, which no account has.
[[nodiscard]] Result<Account> find_account(const std::string& name, std::uint32_t fallback);

// For good: afterwards no capability is left, none can be gained, and the change was verified.
[[nodiscard]] Result<void> drop_privileges(const Account& account);

}  // namespace belljar::access
