#pragma once

#include "base/fd.h"
#include "isolation/jar_spec.h"

namespace belljar::isolation {

// Pid 1 of the jar: forks the guest, reaps whatever is left to it, reports the guest's end and
// ends, upon which the kernel kills every process that is still in the jar. It takes no input from
// the guest, and being undumpable it cannot be traced or read by it.
[[noreturn]] void become_init(const JarSpec& spec, const Fd& warden);

}  // namespace belljar::isolation
