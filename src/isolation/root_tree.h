#pragma once

#include "base/fd.h"
#include "base/result.h"
#include "isolation/jar_spec.h"

// The file tree a guest sees. Runs inside the jar's new mount namespace, in this order; each
// function is one Step.
namespace belljar::isolation {

// Stops every mount made here from reaching the host, and the reverse.
[[nodiscard]] Result<void> make_mounts_private();

// An empty tmpfs that becomes "/".
[[nodiscard]] Result<Fd> make_root();
// The host's /usr and what belongs to it, read-only, without set-user-id and devices.
[[nodiscard]] Result<void> mount_system(const Fd& root);
// A fresh /proc that shows only the jar's own processes, and of those only what the guest may
// touch.
[[nodiscard]] Result<void> mount_proc(const Fd& root);
// null, zero, full, random, urandom, the usual links and a sized /dev/shm.
[[nodiscard]] Result<void> mount_dev(const Fd& root, const JarSpec& spec);
[[nodiscard]] Result<void> mount_tmp(const Fd& root, const JarSpec& spec);
// The descriptor stays open outside, so that the use of the workspace can be read when the jar is
// gone.
[[nodiscard]] Result<Fd> mount_workspace(const Fd& root, const JarSpec& spec);
// A passwd, group and hosts of the jar's own; the host's are not shown.
[[nodiscard]] Result<void> write_etc(const Fd& root);
[[nodiscard]] Result<void> seal_root(const Fd& root);
// Makes `root` the only tree; the host's is unmounted.
[[nodiscard]] Result<void> pivot_into(const Fd& root);

}  // namespace belljar::isolation
