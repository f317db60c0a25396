#pragma once

#include "base/fd.h"
#include "jar/spec.h"

namespace belljar::jar {

// The last steps, in the process that becomes the guest: those that init itself must be free of.
// Sends the seccomp listener, if there is one, through `listener_socket`. Leaves no descriptor open
// but the guest's own and the two sockets.
void confine_guest(const Spec& spec, const Fd& warden, const Fd& listener_socket);

// The same, and then executes the command or becomes the launcher.
[[noreturn]] void become_guest(const Spec& spec, const Fd& warden, const Fd& listener_socket);

// Without any of it, for an interpreter that forks guests: executes the command.
[[noreturn]] void execute_zygote(const Spec& spec, const Fd& warden);

}  // namespace belljar::jar
