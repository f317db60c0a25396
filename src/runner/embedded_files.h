#pragma once

#include <span>
#include <string_view>

namespace belljar::runner {

// A file of the source tree that is part of the binary.
struct EmbeddedFile {
    std::string_view path;
    std::string_view content;
};

[[nodiscard]] std::span<const EmbeddedFile> embedded_files();

// Packages of npm that are parts of guest programs.
[[nodiscard]] std::span<const EmbeddedFile> embedded_packages();

}  // namespace belljar::runner
