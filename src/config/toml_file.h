#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "config/value.h"

namespace belljar::config {

inline constexpr Bytes kMaximumFileSize = mebibytes(1);

// One thing a file says. The name is "section.key" inside the sections of the schema, and a single
// word for whatever else stands at the top level.
struct FileEntry {
    std::string name{};
    RawValue value{};
    std::size_t line = 0;
};

// The entries in the order of their lines. Fails with InvalidArgument, the file's name, the line
// and the column if the text is not TOML.
[[nodiscard]] Result<std::vector<FileEntry>> read_toml(std::string_view text,
                                                       const std::string& file_name);

}  // namespace belljar::config
