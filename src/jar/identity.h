#pragma once

#include <sys/types.h>

#include "base/fd.h"
#include "base/result.h"
#include "jar/spec.h"

// Who the guest is: a user id that exists on the host for this jar alone, no group, no capability
// and no way to gain one.
namespace belljar::jar {

// Inside the jar. The user namespace comes last, so every other namespace stays owned by the
// host's: whatever power a guest might gain inside, it governs none of them.
[[nodiscard]] Result<void> drop_groups();
// The id of this jar in the user namespace around it.
[[nodiscard]] Result<void> take_outer_identity(const Spec& spec);
[[nodiscard]] Result<void> enter_user_namespace();
// Our own directory in the host's /proc, opened while that can be seen.
[[nodiscard]] Result<Fd> open_own_process();
// Gives the new user namespace its one user, which is who we were outside of it.
[[nodiscard]] Result<void> map_identity(const Fd& own_process, const Spec& spec);
[[nodiscard]] Result<void> take_identity();
// Without a user namespace: the host's own id for this jar, or the one we have.
[[nodiscard]] Result<void> take_host_identity(const Spec& spec);
// Empties every capability set and then reads each of them back.
[[nodiscard]] Result<void> drop_capabilities();
// The same where the bounding set cannot be emptied by everybody; no_new_privs makes it mute.
[[nodiscard]] Result<void> drop_held_capabilities();
// Leaves an interpreter that forks guests what it needs to bring them into a jar.
[[nodiscard]] Result<void> keep_zygote_capabilities();
[[nodiscard]] Result<void> forbid_new_privileges();

}  // namespace belljar::jar
