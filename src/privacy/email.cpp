#include <algorithm>
#include <array>
#include <string>

#include "privacy/matchers.h"

namespace belljar::privacy {
namespace {

constexpr std::size_t kLongestLocal = 64;  // characters
constexpr std::size_t kLongestDomain = 253;
constexpr std::size_t kLongestLabel = 63;

// What comes behind a dot in names of files, and is no domain: picture@2x.png.
constexpr std::array<std::string_view, 13> kFileEndings{
    "png", "jpg", "jpeg", "gif", "svg", "webp", "pdf", "css", "js", "json", "html", "txt", "gz"};

// Letters from U+00C0 to U+024F, as in names: two bytes, the first from C3 to C9.
bool is_latin_lead(char byte) {
    const auto value = static_cast<unsigned char>(byte);
    return value >= 0xC3 && value <= 0xC9;
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80; }

// Bytes of the letter or digit there; 0 if there is none.
std::size_t letter_at(Text& text, std::size_t place) {
    const char byte = text.at(place);
    if (is(byte, kAlphanumeric)) {
        return 1;
    }
    return is_latin_lead(byte) && is_continuation(text.at(place + 1)) ? 2 : 0;
}

// Bytes of the character of a local part that ends there; 0 if none does.
std::size_t local_before(std::string_view bytes, std::size_t from, std::size_t place) {
    if (place > from && is(bytes[place - 1], kAlphanumeric | kLocal)) {
        return 1;
    }
    return place >= from + 2 && is_continuation(bytes[place - 1]) && is_latin_lead(bytes[place - 2])
               ? 2
               : 0;
}

// The first place of a local part that ends at `end`, where one may begin; `end` if none may.
std::size_t local_begin(std::string_view bytes, std::size_t from, std::size_t end,
                        std::size_t most) {
    std::size_t begin = end;
    std::size_t place = end;
    for (std::size_t count = 0; count < most; ++count) {
        const std::size_t length = local_before(bytes, from, place);
        if (length == 0) {
            break;
        }
        place -= length;
        begin = is(bytes[place], kWord) || length == 2 ? place : begin;
    }
    return begin;
}

struct Label {
    std::size_t end = 0;        // of all of it
    std::size_t top_level = 0;  // where it could end as the last of a domain; 0: nowhere
    bool digits = true;
};

Label read_label(Text& text, std::size_t place) {
    Label label{.end = place};
    bool letters = true;  // so far, and nothing else
    std::size_t count = 0;
    while (count < kLongestLabel) {
        const bool hyphen = text.at(label.end) == '-';
        const std::size_t length = hyphen ? 1 : letter_at(text, label.end);
        if (length == 0) {
            break;
        }
        if (hyphen && letters && count >= 2) {
            label.top_level = label.end;
        }
        const bool digit = is(text.at(label.end), kDigit);
        letters = letters && !hyphen && !digit;
        label.digits = label.digits && digit;
        label.end += length;
        ++count;
    }
    const std::string_view read = text.part(place, label.end);
    if ((letters && count >= 2) || read.starts_with("xn--")) {
        label.top_level = label.end;
    }
    return label;
}

bool is_file_ending(std::string_view label) {
    return std::ranges::any_of(kFileEndings, [label](std::string_view ending) {
        return std::ranges::equal(label, ending,
                                  [](char left, char right) { return lower(left) == right; });
    });
}

// Where the domain that begins there ends; 0 if there is none.
std::size_t domain_end(Text& text, std::size_t begin) {
    std::size_t end = 0;
    std::size_t last = 0;  // where its last label begins
    std::size_t place = begin;
    int numbers = 0;
    for (int count = 0; place - begin <= kLongestDomain; ++count) {
        const Label label = text.at(place) == '-' ? Label{.end = place} : read_label(text, place);
        if (label.end == place) {
            break;
        }
        if (count < 2 && label.digits && ++numbers == 2) {
            return 0;  // a version: name@1.2.3-beta.rc
        }
        if (count > 0 && label.top_level != 0) {
            end = label.top_level;
            last = place;
        }
        if (text.at(label.end) != '.') {
            break;
        }
        place = label.end + 1;
    }
    return end != 0 && is_file_ending(text.part(last, end)) ? 0 : end;
}

}  // namespace

EmailMatch match_email(Text& text, std::size_t from, std::size_t sign) {
    const std::size_t begin = local_begin(text.bytes(), from, sign, kLongestLocal);
    if (begin == sign || text.part(begin, sign) == "git") {
        return {};
    }
    const std::size_t domain = sign + (text.at(sign) == '@' ? 1 : 3);
    return {.begin = begin, .end = domain_end(text, domain)};
}

std::size_t find_open_email(const Text& text, std::size_t from) {
    std::string_view bytes = text.bytes();
    // Half a letter is none yet.
    const std::size_t half = bytes.size() > from && is_latin_lead(bytes.back()) ? 1 : 0;
    // The last two may be the beginning of %40.
    return local_begin(bytes, from, bytes.size() - half, kLongestLocal + 2);
}

}  // namespace belljar::privacy
