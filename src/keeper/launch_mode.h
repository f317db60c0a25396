#pragma once

#include <sys/types.h>

#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "jar/spec.h"

// How the warden gets the power to make jars, decided once, before there is a warden.
namespace belljar::keeper {

// "auto" takes the strongest that this process can have: "root", "rootless" or "nested". One that
// was asked for by name and cannot be had is an error.
[[nodiscard]] Result<jar::Mode> choose_mode(std::string_view wanted);

// The user ids that jars may have; none: they have the one of the warden.
struct UserIds {
    uid_t first = 0;
    uid_t count = 0;
};

// In the process that becomes the warden: a user namespace, and a mount namespace that belongs to
// it. Tells the keeper through `keeper` and waits until it has ids there.
[[nodiscard]] Result<void> enter_own_namespaces(const Fd& keeper);
// In the keeper: gives the user namespace of `warden` its ids, all that this account may use.
[[nodiscard]] Result<UserIds> give_ids(pid_t warden, const Fd& socket);

// Without namespaces: ids of others only where we may change to them.
[[nodiscard]] UserIds ids_of_nested();

}  // namespace belljar::keeper
