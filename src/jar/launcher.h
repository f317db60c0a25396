#pragma once

#include "jar/spec.h"

namespace belljar::jar {

// What a guest is, after every step of its confinement, whose language has no bootstrap program:
// says on GuestFd::Report that it waits, reads a LaunchRequest from GuestFd::Request, writes the
// files into the working directory, compiles and executes the program, which gets the standard
// streams and nothing else. If that cannot be done, the report says why, and the exit code is 1.
[[noreturn]] void become_launcher(WorkspaceKind workspace);

}  // namespace belljar::jar
