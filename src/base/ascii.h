#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace belljar {

// For names that protocols and settings write in ASCII; every other byte stays as it is.
[[nodiscard]] constexpr char to_lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

[[nodiscard]] inline std::string to_lower(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](char letter) { return to_lower(letter); });
    return lower;
}

[[nodiscard]] constexpr bool equals_ignoring_case(std::string_view left, std::string_view right) {
    return std::ranges::equal(
        left, right, {}, [](char letter) { return to_lower(letter); },
        [](char letter) { return to_lower(letter); });
}

// Without the spaces and tabs around it.
[[nodiscard]] constexpr std::string_view trim(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    return begin == std::string_view::npos
               ? std::string_view{}
               : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace belljar
