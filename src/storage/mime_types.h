#pragma once

#include <string_view>

namespace belljar::storage {

// By the end of the file's name; application/octet-stream for everything unknown.
[[nodiscard]] std::string_view mime_of(std::string_view path);

}  // namespace belljar::storage
