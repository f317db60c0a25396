#pragma once

#include "base/result.h"
#include "execution/limits.h"

// What surrounds the guest besides files and identity: names, network, resource limits, keys.
namespace belljar::isolation {

[[nodiscard]] Result<void> set_hostname();
// Programs may talk to themselves over localhost; nothing else is attached to the jar's network.
[[nodiscard]] Result<void> raise_loopback();
[[nodiscard]] Result<void> set_rlimits(const execution::Limits& limits);
// Keys belong to a user id and outlive processes; a session keyring of its own has nothing in it.
[[nodiscard]] Result<void> make_session_keyring();

}  // namespace belljar::isolation
