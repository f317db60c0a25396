#pragma once

#include "base/fd.h"
#include "base/result.h"
#include "jar/spec.h"

// The file tree a guest sees. Runs inside the jar's new mount namespace, in this order; each
// function is one Step.
namespace belljar::jar {

// Stops every mount made here from reaching the host, and the reverse.
[[nodiscard]] Result<void> make_mounts_private();

// What becomes "/": a small file system with the names that the stage has (stage.h), on which the
// caller stands. No overlay: every path of the guest's leads through it, and would be a tenth
// slower.
[[nodiscard]] Result<Fd> make_root();
// /etc and /tools as they are on the stage, each as an overlay of the jar's own.
[[nodiscard]] Result<void> mount_files(const Fd& root, const Spec& spec);
// /usr and what belongs to it, of the host or of the tree that the spec names, with that one's
// /etc: read-only, without set-user-id and devices. Each is an overlay of the jar's own, so that
// locks and watches on its files reach no other jar.
[[nodiscard]] Result<void> mount_system(const Fd& root, const Spec& spec);
// The directory of logs, if the spec names one: as the system's, so that no lock on a log file
// reaches its writer.
[[nodiscard]] Result<void> mount_logs(const Fd& root, const Spec& spec);
// A fresh /proc that shows only the jar's own processes, and of those only what the guest may
// touch.
[[nodiscard]] Result<void> mount_proc(const Fd& root, const Spec& spec);
// null, zero, full, random, urandom, the usual links and a sized /dev/shm.
[[nodiscard]] Result<void> mount_dev(const Fd& root, const Spec& spec);
// The descriptors stay open outside, so that the use of both can be read when the jar is gone.
[[nodiscard]] Result<Fd> mount_tmp(const Fd& root, const Spec& spec);
[[nodiscard]] Result<Fd> mount_workspace(const Fd& root, const Spec& spec);
[[nodiscard]] Result<void> seal_root(const Fd& root);
// Makes `root` the only tree; the host's is unmounted.
[[nodiscard]] Result<void> pivot_into(const Fd& root);

}  // namespace belljar::jar
