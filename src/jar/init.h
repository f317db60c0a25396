#pragma once

#include "base/fd.h"
#include "jar/spec.h"

namespace belljar::jar {

// Turns the contained process into pid 1 of its jar: forks the guest, reaps what the guest leaves,
// tells the warden of refused calls and how the guest ended, and ends. Everything else in the jar
// dies with it.
[[noreturn]] void become_init(Spec spec, const Fd& warden_socket);

}  // namespace belljar::jar
