#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "privacy/text.h"

namespace belljar::privacy {

// Whether one of the words (in lower case) stands before the place, with nothing between but
// punctuation and words such as "number" or "is".
[[nodiscard]] bool is_announced(const Text& text, std::size_t place,
                                std::span<const std::string_view> words);

// Whether the text ends with the word, in either case, and no letter stands before it.
[[nodiscard]] bool ends_with_word(std::string_view text, std::string_view word);

}  // namespace belljar::privacy
