#include <algorithm>
#include <array>

#include "privacy/checksums.h"
#include "privacy/context.h"
#include "privacy/matchers.h"

namespace belljar::privacy {
namespace {

constexpr std::size_t kLongestIpv6 = 46;
constexpr std::size_t kLongestZone = 16;
constexpr std::array<std::string_view, 7> kVersionWords{"version",  "ver", "release", "build",
                                                        "firmware", "rev", "revision"};

// Chrome/120.0.0.0, pip==1.2.3.4, name-1.2.3.4, version 1.2.3.4
bool is_version(const Text& text, std::size_t place) {
    std::string_view left = text.look_behind(place);
    if (left.ends_with("==") || left.ends_with(">=") || left.ends_with("<=") ||
        left.ends_with("~=")) {
        return true;
    }
    if (left.size() >= 2 && left.back() == '-' && is(left[left.size() - 2], kLetter)) {
        return true;
    }
    if (left.ends_with('/')) {
        left.remove_suffix(1);
        std::size_t letters = 0;
        while (letters < left.size() && is(left[left.size() - 1 - letters], kLetter)) {
            ++letters;
        }
        const char before = letters < left.size() ? left[left.size() - 1 - letters] : ' ';
        return letters > 0 && !is(before, kWord) && before != '/' && before != '.' && before != '-';
    }
    return is_announced(text, place, kVersionWords);
}

// Where four numbers of a byte each end; 0 if there are none.
std::size_t read_ipv4(Text& text, std::size_t place) {
    for (int count = 0; count < 4; ++count) {
        if (count > 0) {
            if (text.at(place) != '.') {
                return 0;
            }
            ++place;
        }
        const std::size_t length = text.run(place, kDigit, 4);
        if (length == 0 || length > 3 || (length > 1 && text.at(place) == '0')) {
            return 0;
        }
        int value = 0;
        for (std::size_t index = 0; index < length; ++index) {
            value = value * 10 + (text.at(place + index) - '0');
        }
        if (value > 255) {
            return 0;
        }
        place += length;
    }
    return place;
}

std::size_t match_ipv4(Text& text, std::size_t place) {
    const std::size_t end = text.before(place) == '.' ? 0 : read_ipv4(text, place);
    if (end == 0 || text.is_at(end, kWord) ||
        (text.at(end) == '.' && text.is_at(end + 1, kAlphanumeric))) {
        return 0;
    }
    return is_version(text, place) ? 0 : end;
}

// Eight groups of two digits each are an identifier of hardware.
bool is_likely_ipv6(std::string_view address) {
    const bool embedded = address.contains('.');
    if (address.contains("::")) {
        const std::size_t first = address.find(':');
        return embedded || (first >= 3 && std::ranges::any_of(address, [](char character) {
                                return is(character, kDigit);
                            }));
    }
    bool pairs = true;
    for (std::size_t index = 2; index < address.size(); index += 3) {
        pairs = pairs && address[index] == ':';
    }
    return !(pairs && address.size() == 23);
}

std::size_t match_ipv6(Text& text, std::size_t place) {
    const char before = text.before(place);
    if (before == ':' || before == '.' || before == '-') {
        return 0;
    }
    std::size_t colons = 0;
    std::size_t length = 0;
    std::size_t last = 0;  // where the last group begins
    while (length < kLongestIpv6 &&
           (text.is_at(place + length, kHex) || text.at(place + length) == ':')) {
        if (text.at(place + length) == ':') {
            ++colons;
            last = length + 1;
        } else if (length - last >= 4) {
            return 0;
        }
        ++length;
    }
    if (colons < 2) {
        return 0;
    }
    if (text.at(place + length) == '.' && text.is_at(place + length + 1, kDigit)) {
        const std::size_t end = read_ipv4(text, place + last);
        length = end != 0 ? end - place : length;
    }
    // "address: error", but not "fe80::"
    if (text.part(place, place + length).ends_with(':') &&
        !text.part(place, place + length).ends_with("::")) {
        --length;
    }
    if (text.is_at(place + length, kWord)) {
        return 0;
    }
    const std::string_view address = text.part(place, place + length);
    if (!is_likely_ipv6(address) || !is_ipv6(address)) {
        return 0;
    }
    std::size_t end = place + length;
    if (text.at(end) == '%') {
        const std::size_t zone = text.run(end + 1, kWord, kLongestZone);
        end += zone > 0 ? zone + 1 : 0;
    }
    return end;
}

}  // namespace

std::size_t match_ip_address(Text& text, std::size_t place) {
    if (text.is_at(place, kDigit)) {
        if (const std::size_t end = match_ipv4(text, place); end != 0) {
            return end;
        }
    }
    return match_ipv6(text, place);
}

std::size_t match_mac_address(Text& text, std::size_t place) {
    const char before = text.before(place);
    const char separator = text.at(place + 2);
    if ((separator != ':' && separator != '-') || before == ':' || before == '-') {
        return 0;
    }
    for (int count = 0; count < 6; ++count) {
        if (count > 0) {
            if (text.at(place) != separator) {
                return 0;
            }
            ++place;
        }
        if (text.run(place, kHex, 2) != 2) {
            return 0;
        }
        place += 2;
    }
    const bool goes_on = text.at(place) == separator && text.is_at(place + 1, kHex);
    return goes_on || text.is_at(place, kWord) ? 0 : place;
}

}  // namespace belljar::privacy
