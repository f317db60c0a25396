#pragma once

#include "base/fd.h"
#include "jar/spec.h"

namespace belljar::jar {

// The last steps, in the process that becomes the guest: those that init itself must be free of.
// Sends the seccomp listener, if there is one, through `listener_socket`.
[[noreturn]] void become_guest(const Spec& spec, const Fd& warden, const Fd& listener_socket);

}  // namespace belljar::jar
