#pragma once

#include <span>
#include <string_view>

namespace belljar::apps {

// A file of tests/attack/ that is part of the binary.
struct AttackFile {
    std::string_view path;  // below tests/attack/
    std::string_view content;
};

[[nodiscard]] std::span<const AttackFile> attack_files();

}  // namespace belljar::apps
