#include "base/utf8.h"

#include <array>

namespace belljar {
namespace {

// The allowed second bytes by first byte (Unicode, table 3-7): this excludes overlong forms,
// surrogates and values beyond U+10FFFF.
struct LeadByte {
    unsigned char first;
    unsigned char last;
    unsigned char second_low;
    unsigned char second_high;
    std::size_t length;
};

constexpr std::array<LeadByte, 8> kLeadBytes{{{0xC2, 0xDF, 0x80, 0xBF, 2},
                                              {0xE0, 0xE0, 0xA0, 0xBF, 3},
                                              {0xE1, 0xEC, 0x80, 0xBF, 3},
                                              {0xED, 0xED, 0x80, 0x9F, 3},
                                              {0xEE, 0xEF, 0x80, 0xBF, 3},
                                              {0xF0, 0xF0, 0x90, 0xBF, 4},
                                              {0xF1, 0xF3, 0x80, 0xBF, 4},
                                              {0xF4, 0xF4, 0x80, 0x8F, 4}}};

bool continues(std::string_view text, const LeadByte& lead) {
    if (text.size() < lead.length) {
        return false;
    }
    const auto second = static_cast<unsigned char>(text[1]);
    if (second < lead.second_low || second > lead.second_high) {
        return false;
    }
    for (std::size_t index = 2; index < lead.length; ++index) {
        const auto byte = static_cast<unsigned char>(text[index]);
        if (byte < 0x80 || byte > 0xBF) {
            return false;
        }
    }
    return true;
}

}  // namespace

std::size_t utf8_character_length(std::string_view text) {
    if (text.empty()) {
        return 0;
    }
    const auto byte = static_cast<unsigned char>(text.front());
    if (byte < 0x80) {
        return 1;
    }
    for (const LeadByte& lead : kLeadBytes) {
        if (byte >= lead.first && byte <= lead.last) {
            return continues(text, lead) ? lead.length : 0;
        }
    }
    return 0;
}

bool is_valid_utf8(std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = utf8_character_length(text);
        if (length == 0) {
            return false;
        }
        text.remove_prefix(length);
    }
    return true;
}

std::string make_valid_utf8(std::string_view text) {
    if (is_valid_utf8(text)) {
        return std::string(text);
    }
    std::string valid;
    valid.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = utf8_character_length(text);
        if (length == 0) {
            valid += "\xEF\xBF\xBD";
            text.remove_prefix(1);
        } else {
            valid += text.substr(0, length);
            text.remove_prefix(length);
        }
    }
    return valid;
}

std::string_view utf8_beginning(std::string_view text, std::size_t limit) {
    if (text.size() <= limit) {
        return text;
    }
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) {
        --limit;
    }
    return text.substr(0, limit);
}

}  // namespace belljar
