#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace belljar::config {

// Copies the text of a file into a form that toml++ 3.3 handles safely whatever was in it: plain
// ASCII without comments, with few dots per line and no text over several lines. The lines stay the
// same and so does the meaning; what cannot be copied so fails with the file's name and the line.
[[nodiscard]] Result<std::string> prepare_toml(std::string_view text, const std::string& file_name);

}  // namespace belljar::config
