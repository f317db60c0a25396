#pragma once

#include <string>
#include <vector>

#include "approved/manifest.h"
#include "approved/pack.h"
#include "base/bytes.h"
#include "base/result.h"
#include "config/settings.h"

namespace belljar::approved {

inline constexpr Bytes kLargestModule = mebibytes(2);
inline constexpr Bytes kLargestCollection = mebibytes(16);

struct Source {
    std::string path{};      // the directory, which may be a link that changes
    std::string manifest{};  // empty: manifest.toml in the directory
    config::Unlisted unlisted = config::Unlisted::Refuse;
};

// What can be served of a directory now. An error if it cannot be read or its manifest is wrong as
// a whole; what is wrong with single files is among the refusals. Blocks. Links in the directory
// are followed as long as they stay in it, which is how a ConfigMap swaps all files at once.
[[nodiscard]] Result<Collection> read_collection(const Source& source);

// Approvals of everything that is there, as it is there: those of the manifest with the digests of
// today, and new ones for the rest. For a person to look at.
[[nodiscard]] Result<std::vector<Approval>> draft_manifest(const Source& source,
                                                           const std::string& owner);

// The directories whose changes are those of the collection.
[[nodiscard]] std::vector<std::string> watched_places(const Source& source);

}  // namespace belljar::approved
