#pragma once

#include <cstddef>

#include "base/fd.h"
#include "base/result.h"

// The directory of a jar that has no file tree of its own.
namespace belljar::jar {

inline constexpr const char* kWorkspaceName = "workspace";
inline constexpr const char* kTmpName = "tmp";

// Removes everything below `directory`, whatever a guest made of it: no link is followed, no name
// is interpreted, no other file system is entered. Needs only the rights of the owner.
[[nodiscard]] Result<void> remove_content(const Fd& directory);

// The same, but no more than `most` entries, which it takes off. False: something may be left.
[[nodiscard]] Result<bool> remove_some(const Fd& directory, std::size_t& most);

// The same for the workspace and the tmp in a jar's directory.
[[nodiscard]] Result<void> empty_scratch(const Fd& scratch);

}  // namespace belljar::jar
