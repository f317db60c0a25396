#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

// The new mount API (Linux 5.2 and later), by descriptor: a mount gets its attributes before it is
// attached, so there is no moment in which it is writable, and no path is resolved inside a tree
// that a guest could have changed.
namespace belljar::jar {

struct MountOption {
    const char* key;
    std::string value;  // empty for a flag
};

// A new file system instance, not attached yet. `attributes` are MOUNT_ATTR_ bits.
[[nodiscard]] Result<Fd> make_filesystem(const char* type, const std::vector<MountOption>& options,
                                         std::uint64_t attributes);

enum class Depth { ThisMount, Everything };

// A detached copy of a host directory or file with `attributes` set on it.
[[nodiscard]] Result<Fd> clone_mount(const std::string& path, std::uint64_t attributes,
                                     Depth depth);

// Attaches `mount` at `path` below `directory`.
[[nodiscard]] Result<void> attach_mount(const Fd& mount, const Fd& directory, const char* path);

// A directory below another one, without following a link.
[[nodiscard]] Result<Fd> open_place(const Fd& parent, const char* name);

[[nodiscard]] Result<void> set_mount_attributes(const Fd& mount, std::uint64_t attributes,
                                                Depth depth);

}  // namespace belljar::jar
