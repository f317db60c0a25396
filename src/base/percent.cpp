#include "base/percent.h"

#include <algorithm>

#include "base/ascii.h"

namespace belljar {
namespace {

std::optional<unsigned> digit_value(char letter) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const std::size_t value = kDigits.find(to_lower(letter));
    return value == std::string_view::npos ? std::nullopt
                                           : std::optional(static_cast<unsigned>(value));
}

}  // namespace

std::string percent_encoded(std::string_view text, std::string_view also_plain) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    constexpr std::string_view kPlain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    std::string encoded;
    for (const char letter : text) {
        if (kPlain.contains(letter) || also_plain.contains(letter)) {
            encoded += letter;
            continue;
        }
        const auto byte = static_cast<unsigned char>(letter);
        encoded += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
    return encoded;
}

std::optional<std::string> percent_decoded(std::string_view text) {
    std::string decoded;
    for (std::size_t index = 0; index < text.size(); ++index) {
        if (text[index] != '%') {
            decoded += text[index];
            continue;
        }
        if (text.size() - index < 3) {
            return std::nullopt;
        }
        const std::optional<unsigned> high = digit_value(text[index + 1]);
        const std::optional<unsigned> low = digit_value(text[index + 2]);
        if (!high || !low) {
            return std::nullopt;
        }
        decoded += static_cast<char>(*high << 4U | *low);
        index += 2;
    }
    return decoded;
}

std::optional<QueryValues> parse_query(std::string_view query) {
    QueryValues values;
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(pair.size() + 1, query.size()));
        if (pair.empty()) {
            continue;
        }
        const std::size_t equals = std::min(pair.find('='), pair.size());
        std::string name(pair.substr(0, equals));
        std::string value(pair.substr(std::min(equals + 1, pair.size())));
        std::ranges::replace(name, '+', ' ');
        std::ranges::replace(value, '+', ' ');
        std::optional<std::string> decoded_name = percent_decoded(name);
        std::optional<std::string> decoded_value = percent_decoded(value);
        if (!decoded_name || !decoded_value) {
            return std::nullopt;
        }
        values.emplace_back(std::move(*decoded_name), std::move(*decoded_value));
    }
    return values;
}

}  // namespace belljar
