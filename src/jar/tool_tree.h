#pragma once

#include <cstdint>

#include "base/fd.h"
#include "base/result.h"
#include "jar/spec.h"

// The approved tools of a jar. They come as a pack: a file of the records of pack_stream.h, which
// the server has put together out of what it had checked. The jar has a copy of its own, so that
// neither another jar nor a later change of the originals reaches it.
namespace belljar::jar {

inline constexpr std::uint64_t kLargestToolPack = 32U << 20U;

// Writes the files of a pack below a directory, read-only for everybody.
[[nodiscard]] Result<void> unpack_tools(const Fd& pack, const Fd& directory);

// /tools, read-only; empty if the spec has no pack. A step of the tree (root_tree.h).
[[nodiscard]] Result<void> mount_tools(const Fd& root, const Spec& spec);

}  // namespace belljar::jar
