#include "base/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace belljar {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> make_values() {
    std::array<std::int8_t, 256> values{};
    values.fill(-1);
    for (std::size_t index = 0; index < kAlphabet.size(); ++index) {
        values[static_cast<unsigned char>(kAlphabet[index])] = static_cast<std::int8_t>(index);
    }
    return values;
}

constexpr std::array<std::int8_t, 256> kValues = make_values();

}  // namespace

Result<std::string> decode_base64(std::string_view text) {
    const auto refuse = [] { return fail(ErrorCode::InvalidArgument, "not valid base64"); };
    if (text.size() % 4 != 0) {
        return refuse();
    }
    const std::size_t padding = text.ends_with("==") ? 2 : (text.ends_with('=') ? 1 : 0);
    std::string data;
    data.reserve(text.size() / 4 * 3);
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char letter : text.substr(0, text.size() - padding)) {
        const std::int8_t value = kValues[static_cast<unsigned char>(letter)];
        if (value < 0) {
            return refuse();
        }
        bits = (bits << 6U) | static_cast<std::uint32_t>(value);
        count += 6;
        if (count >= 8) {
            count -= 8;
            data += static_cast<char>((bits >> count) & 0xFFU);
        }
    }
    const bool leftover_bits = (bits & ((1U << count) - 1U)) != 0;
    if (leftover_bits) {
        return refuse();
    }
    return data;
}

std::string encode_base64(std::string_view data) {
    std::string text;
    text.reserve((data.size() + 2) / 3 * 4);
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char letter : data) {
        bits = (bits << 8U) | static_cast<unsigned char>(letter);
        count += 8;
        while (count >= 6) {
            count -= 6;
            text += kAlphabet[(bits >> count) & 0x3FU];
        }
    }
    if (count > 0) {
        text += kAlphabet[(bits << (6U - count)) & 0x3FU];
    }
    while (text.size() % 4 != 0) {
        text += '=';
    }
    return text;
}

Result<std::string> decode_base64url(std::string_view text) {
    if (text.find_first_of("+/=") != std::string_view::npos || text.size() % 4 == 1) {
        return fail(ErrorCode::InvalidArgument, "not valid base64url");
    }
    std::string standard(text);
    std::ranges::replace(standard, '-', '+');
    std::ranges::replace(standard, '_', '/');
    standard.append((4 - standard.size() % 4) % 4, '=');
    return decode_base64(standard);
}

}  // namespace belljar
