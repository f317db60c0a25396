#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace belljar {

// Bytes of the valid UTF-8 character at the front of `text`; 0 if there is none.
[[nodiscard]] std::size_t utf8_character_length(std::string_view text);

[[nodiscard]] bool is_valid_utf8(std::string_view text);

// Every byte that is not part of valid UTF-8 becomes U+FFFD; valid text is returned unchanged.
[[nodiscard]] std::string make_valid_utf8(std::string_view text);

// The longest beginning of valid text that has at most `limit` bytes and only whole characters.
[[nodiscard]] std::string_view utf8_beginning(std::string_view text, std::size_t limit);

}  // namespace belljar
