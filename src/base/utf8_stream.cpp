#include "base/utf8_stream.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"

namespace belljar {
namespace {

constexpr std::size_t kLongestCharacter = 4;
constexpr char kFirstContinuation = '\x80';

// Whether continuation bytes behind it make one character.
bool can_be_filled(std::string bytes) {
    while (bytes.size() < kLongestCharacter) {
        bytes += kFirstContinuation;
        if (utf8_character_length(bytes) == bytes.size()) {
            return true;
        }
    }
    return false;
}

// Whether more bytes could make one character of it. After some first bytes, not every
// continuation may come second.
bool is_beginning(std::string_view bytes) {
    if (can_be_filled(std::string(bytes))) {
        return true;
    }
    constexpr std::array<char, 2> kSecondBytes{'\x90', '\xA0'};  // after 0xF0 and 0xE0
    return bytes.size() == 1 && std::ranges::any_of(kSecondBytes, [&](char second) {
               return can_be_filled(std::string(bytes) + second);
           });
}

// How many of the last bytes may be the beginning of a character.
std::size_t unfinished(std::string_view bytes) {
    const std::size_t most = std::min(bytes.size(), kLongestCharacter - 1);
    for (std::size_t count = 1; count <= most; ++count) {
        const std::string_view end = bytes.substr(bytes.size() - count);
        if (static_cast<unsigned char>(end.front()) >= 0xC0U) {
            return is_beginning(end) ? count : 0;
        }
    }
    return 0;
}

}  // namespace

std::string Utf8Stream::take(std::string_view bytes) {
    std::string joined;
    if (!held_.empty()) {
        joined = std::exchange(held_, {});
        joined += bytes;
        bytes = joined;
    }
    const std::size_t count = unfinished(bytes);
    held_ = bytes.substr(bytes.size() - count);
    return make_valid_utf8(bytes.substr(0, bytes.size() - count));
}

std::string Utf8Stream::finish() { return make_valid_utf8(std::exchange(held_, {})); }

}  // namespace belljar
