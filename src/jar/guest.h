#pragma once

#include <span>
#include <vector>

#include "base/fd.h"
#include "jar/seccomp_filter.h"
#include "jar/spec.h"

namespace belljar::jar {

// The filter of guests, for who starts many of them.
[[nodiscard]] std::vector<sock_filter> make_guest_filter(Mode mode);

// The last steps, in the process that becomes the guest: those that init itself must be free of.
// Sends the seccomp listener, if there is one, through `listener_socket`. Leaves no descriptor open
// but the guest's own and the two sockets.
void confine_guest(const Spec& spec, const Fd& warden, const Fd& listener_socket,
                   std::span<const sock_filter> filter);

// The same, and then executes the command or becomes the launcher.
[[noreturn]] void become_guest(const Spec& spec, const Fd& warden, const Fd& listener_socket);

// Without any of it, for an interpreter that forks guests: executes the command. `own_process` is
// its directory in /proc, which it cannot see by itself.
[[noreturn]] void execute_zygote(const Spec& spec, const Fd& warden, const Fd& own_process);

}  // namespace belljar::jar
