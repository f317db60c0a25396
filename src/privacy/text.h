#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace belljar::privacy {

using Classes = std::uint16_t;

// What a byte may be part of. Bytes beyond ASCII are none of these: they end a word.
inline constexpr Classes kDigit = 1;
inline constexpr Classes kLetter = 2;
inline constexpr Classes kHex = 4;
inline constexpr Classes kUnderscore = 8;
inline constexpr Classes kLocal = 16;  // besides letters and digits, in what stands before the @
inline constexpr Classes kHyphen = 32;
inline constexpr Classes kGap = 64;       // between a word and the number that it announces
inline constexpr Classes kOpening = 128;  // no letter or digit, but something may begin with it
inline constexpr Classes kDot = 256;
inline constexpr Classes kBase64 = 512;  // besides letters, digits and hyphens, in keys
inline constexpr Classes kAlphanumeric = kDigit | kLetter;
inline constexpr Classes kWord = kDigit | kLetter | kUnderscore;

[[nodiscard]] constexpr std::array<Classes, 256> make_classes() {
    std::array<Classes, 256> table{};
    const auto add = [&table](std::string_view characters, Classes mask) {
        for (const char character : characters) {
            table.at(static_cast<unsigned char>(character)) |= mask;
        }
    };
    add("0123456789", kDigit | kHex);
    add("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", kLetter);
    add("abcdefABCDEF", kHex);
    add("_", kUnderscore | kLocal);
    add(".%+'-", kLocal);
    add("-", kHyphen);
    add(".", kDot);
    add("+/=~", kBase64);
    add(" \t:=\"'>#.,([*-", kGap);
    add("+(:/", kOpening);
    return table;
}

inline constexpr std::array<Classes, 256> kClasses = make_classes();

[[nodiscard]] constexpr bool is(char character, Classes classes) {
    return (kClasses[static_cast<unsigned char>(character)] & classes) != 0;
}

[[nodiscard]] constexpr char lower(char character) {
    return character >= 'A' && character <= 'Z' ? static_cast<char>(character + ('a' - 'A'))
                                                : character;
}

// Whether more may follow what is there.
enum class Rest { Open, Ended };

// A piece of a stream as matchers see it: positions count from its beginning, which is that of the
// stream or at least kLookBehind bytes before the place they look at. Remembers whether the answer
// depends on bytes that have not come yet.
class Text {
   public:
    static constexpr std::size_t kLookBehind = 48;

    Text(std::string_view bytes, Rest rest) : bytes_(bytes), rest_(rest) {}

    // Zero beyond the end.
    [[nodiscard]] char at(std::size_t place) {
        if (place < bytes_.size()) {
            return bytes_[place];
        }
        undecided_ = undecided_ || rest_ == Rest::Open;
        return '\0';
    }
    [[nodiscard]] bool is_at(std::size_t place, Classes classes) { return is(at(place), classes); }
    // Zero at the beginning.
    [[nodiscard]] char before(std::size_t place) const {
        return place > 0 ? bytes_[place - 1] : '\0';
    }
    // How many of a class stand there, up to `most`.
    [[nodiscard]] std::size_t run(std::size_t place, Classes classes, std::size_t most) {
        std::size_t length = 0;
        while (length < most && is_at(place + length, classes)) {
            ++length;
        }
        return length;
    }
    [[nodiscard]] std::string_view look_behind(std::size_t place) const {
        const std::size_t length = place < kLookBehind ? place : kLookBehind;
        return bytes_.substr(place - length, length);
    }
    // Only of what at() has given.
    [[nodiscard]] std::string_view part(std::size_t begin, std::size_t end) const {
        return bytes_.substr(begin, end - begin);
    }
    [[nodiscard]] std::string_view bytes() const { return bytes_; }

    [[nodiscard]] bool undecided() const { return undecided_; }
    void begin_match() { undecided_ = false; }

   private:
    std::string_view bytes_;
    Rest rest_;
    bool undecided_ = false;
};

}  // namespace belljar::privacy
