#pragma once

#include "base/fd.h"
#include "base/result.h"

// The directory of a jar that has no file tree of its own.
namespace belljar::jar {

inline constexpr const char* kWorkspaceName = "workspace";
inline constexpr const char* kTmpName = "tmp";

// Removes everything below `directory`, whatever a guest made of it: no link is followed, no name
// is interpreted, no other file system is entered. Needs only the rights of the owner.
[[nodiscard]] Result<void> remove_content(const Fd& directory);

}  // namespace belljar::jar
