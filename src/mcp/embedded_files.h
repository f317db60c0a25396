#pragma once

#include <span>
#include <string_view>

namespace belljar::mcp {

// A file of the source tree that is part of the binary: those of skills/ and of src/mcp/view/.
struct EmbeddedFile {
    std::string_view path;
    std::string_view content;
};

[[nodiscard]] std::span<const EmbeddedFile> embedded_files();

}  // namespace belljar::mcp
