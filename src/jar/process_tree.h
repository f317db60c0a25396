#pragma once

#include <sys/types.h>

#include <vector>

#include "base/result.h"

// Ending everything that was started from here, where no pid namespace does it.
namespace belljar::jar {

// Kills every descendant of the calling process except `spared`, until none is left. The caller is
// a child subreaper, so that an orphan becomes its child and cannot hide.
[[nodiscard]] Result<void> end_descendants(const std::vector<pid_t>& spared);

}  // namespace belljar::jar
