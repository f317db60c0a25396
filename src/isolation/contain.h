#pragma once

#include "base/fd.h"
#include "isolation/cgroup.h"
#include "isolation/jar_spec.h"

namespace belljar::isolation {

// What the child of clone3 does: closes itself in, step by step, then becomes the jar's init.
// Never returns; a step that fails is reported by name and ends the jar.
[[noreturn]] void contain(const JarSpec& spec, const JarCgroup& cgroup, const Fd& warden);

}  // namespace belljar::isolation
