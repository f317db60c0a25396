#pragma once

#include <sys/types.h>

#include "base/fd.h"
#include "base/result.h"

// Who the guest is: a user id that exists on the host for this jar alone, no group, no capability
// and no way to gain one.
namespace belljar::isolation {

// Inside the jar. The user namespace comes last, so every other namespace stays owned by the
// host's: whatever power a guest might gain inside, it governs none of them.
[[nodiscard]] Result<void> drop_groups();
[[nodiscard]] Result<void> enter_user_namespace();
[[nodiscard]] Result<void> take_identity();
// Empties every capability set and then reads each of them back.
[[nodiscard]] Result<void> drop_capabilities();
[[nodiscard]] Result<void> forbid_new_privileges();

// Outside: gives the new user namespace of a child that is not reaped its one user.
[[nodiscard]] Result<void> map_identity(pid_t child, uid_t host_user);

}  // namespace belljar::isolation
