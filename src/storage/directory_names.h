#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace belljar::storage {

// What is in a directory, in any order; nothing if it cannot be read.
[[nodiscard]] std::vector<std::string> names_in(const Fd& directory);

// Whether it is a SHA-256 in hexadecimal, as directories of principals and conversations are named.
[[nodiscard]] bool is_hash(std::string_view name);

}  // namespace belljar::storage
