#pragma once

#include <cstdint>

#include "base/fd.h"
#include "base/result.h"

// The approved tools of a jar. They come as a pack: a file of the records of pack_stream.h, which
// the server has put together out of what it had checked. Jars see a copy, so that no later change
// of the originals reaches them, each through an overlay of its own (stage.h).
namespace belljar::jar {

inline constexpr std::uint64_t kLargestToolPack = 32U << 20U;

// Writes the files of a pack below a directory, read-only for everybody. EPROTO if it is none.
[[nodiscard]] Result<void> unpack_tools(const Fd& pack, const Fd& directory);

}  // namespace belljar::jar
