#pragma once

#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "jar/process_tree.h"
#include "jar/spec.h"

// A second fence around files, and around signals and abstract sockets where the kernel offers it:
// it holds even if a mount were writable or a namespace shared.
namespace belljar::jar {

// Which version this kernel speaks; 0 without Landlock. (Linux 5.13 is 1, 6.12 is 6.)
[[nodiscard]] std::uint32_t find_landlock_abi();

// Whether that version keeps a guest from what namespaces and an id of its own do not: without them
// it shares the server's processes, whom only version 6 keeps signals from, and files, which only
// version 3 keeps from being cut off.
[[nodiscard]] bool is_fence(std::uint32_t abi, Mode mode, bool own_user);

// Confines the calling process and everything it becomes. Needs no_new_privs. Does nothing if the
// spec says that the kernel has no Landlock; the missing layer is then part of every result.
[[nodiscard]] Result<void> enter_landlock(const Spec& spec);

// From then on a signal of the calling process reaches only itself and what it forks. Needs
// no_new_privs; says whether this kernel can do it.
[[nodiscard]] Result<Everybody> confine_signals(std::uint32_t abi);

}  // namespace belljar::jar
