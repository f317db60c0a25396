#pragma once

#include "base/fd.h"
#include "base/result.h"

// What is in /dev besides /dev/shm.
namespace belljar::jar {

// Nodes of the jar's own: locks and watches on the host's would be seen in every jar. Not attached
// yet, and read-only. Takes the host's root.
[[nodiscard]] Result<Fd> make_device_tree();

// The same at `name` below `root` for who is not the host's root: shows the host's nodes.
[[nodiscard]] Result<void> show_device_tree(const Fd& root, const char* name);

}  // namespace belljar::jar
