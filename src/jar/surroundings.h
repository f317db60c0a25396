#pragma once

#include "base/fd.h"
#include "base/result.h"
#include "jar/spec.h"

// What surrounds the guest besides files and identity: names, network, resource limits, keys.
namespace belljar::jar {

[[nodiscard]] Result<void> set_hostname();
// Programs may talk to themselves over localhost; nothing else is attached to the jar's network.
[[nodiscard]] Result<void> raise_loopback();
// Behind the server and everybody else, where no cgroup puts the jar there; there is no way back.
[[nodiscard]] Result<void> yield_processor(const Spec& spec);
[[nodiscard]] Result<void> set_rlimits(const Spec& spec);
// Keys belong to a user id and outlive processes; a session keyring of its own has nothing in it.
[[nodiscard]] Result<void> make_session_keyring(Mode mode);

// The kernel's own limits on namespaces, by owner. Opened while the host's /proc can be seen.
[[nodiscard]] Result<Fd> open_namespace_limits();
// Nobody in the user namespace of the caller can make another one, whatever the filter allows; and
// with that no namespace of any kind, since all others take a right that is only had in a new one.
[[nodiscard]] Result<void> forbid_namespaces(const Fd& limits);

// Memory is never both writable and executable, in this process and all that follow (Linux 6.3).
[[nodiscard]] Result<void> deny_write_execute();
[[nodiscard]] bool has_write_execute_denial();

}  // namespace belljar::jar
