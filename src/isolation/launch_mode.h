#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "isolation/warden.h"

// How the warden gets the power to make jars. The keeper decides this once, before there is a
// warden.
namespace belljar::isolation {

// "auto" takes the strongest that this process can have: "root", "rootless" or "nested". One that
// was asked for by name and cannot be had is an error.
[[nodiscard]] Result<jar::Mode> choose_mode(std::string_view wanted);

// In the process that becomes the warden: a user namespace, and a mount namespace that belongs to
// it. Tells the keeper through `keeper` and waits for its ids.
[[nodiscard]] Result<Host> enter_own_namespaces(const Fd& keeper);
// In the keeper: gives the user namespace of `warden` its ids, all that this account may use.
[[nodiscard]] Result<void> give_ids(pid_t warden, const Fd& socket);

// Which ids jars get in Mode::Nested: others than ours only where we may change to them.
[[nodiscard]] Host nested_host();

}  // namespace belljar::isolation
