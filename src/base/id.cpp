#include "base/id.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <cerrno>
#include <vector>

#include "base/assert.h"

namespace belljar {

std::string random_hex(std::size_t bytes) {
    std::vector<unsigned char> random(bytes);
    std::size_t filled = 0;
    while (filled < bytes) {
        const ssize_t count = ::getrandom(random.data() + filled, bytes - filled, 0);
        BJ_ASSERT(count > 0 || errno == EINTR);
        filled += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    std::string text;
    text.reserve(bytes * 2);
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (const unsigned char byte : random) {
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 0xFU];
    }
    return text;
}

std::string make_uuid() {
    std::string hex = random_hex(16);
    hex[12] = '4';
    constexpr std::string_view kVariant = "89ab";
    hex[16] = kVariant[static_cast<std::size_t>(hex[16]) % kVariant.size()];
    return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4),
                       hex.substr(16, 4), hex.substr(20));
}

bool equal_in_constant_time(std::string_view left, std::string_view right) {
    if (left.size() != right.size()) {
        return false;
    }
    unsigned char difference = 0;
    for (std::size_t index = 0; index < left.size(); ++index) {
        difference = static_cast<unsigned char>(difference | (left[index] ^ right[index]));
    }
    return difference == 0;
}

}  // namespace belljar
