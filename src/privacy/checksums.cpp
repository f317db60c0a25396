#include "privacy/checksums.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <string>

#include "privacy/text.h"

namespace belljar::privacy {
namespace {

struct CardRange {
    int low;  // of the first four digits
    int high;
    std::size_t shortest;
    std::size_t longest;
};

constexpr std::array<CardRange, 20> kCardRanges{
    {{4000, 4999, 16, 16}, {4000, 4999, 13, 13}, {4000, 4999, 19, 19}, {5100, 5599, 16, 16},
     {2221, 2720, 16, 16}, {2200, 2204, 16, 19}, {3400, 3499, 15, 15}, {3700, 3799, 15, 15},
     {3000, 3059, 14, 14}, {3600, 3699, 14, 14}, {3800, 3999, 14, 14}, {3528, 3589, 16, 19},
     {6011, 6011, 16, 19}, {6440, 6599, 16, 19}, {6200, 6299, 16, 19}, {5018, 5018, 13, 19},
     {5020, 5020, 13, 19}, {5038, 5038, 13, 19}, {6304, 6304, 13, 19}, {6759, 6763, 13, 19}}};

struct Country {
    std::string_view code;
    std::size_t length;
};

constexpr auto kCountries = std::to_array<Country>(
    {{"AD", 24}, {"AE", 23}, {"AL", 28}, {"AT", 20}, {"AZ", 28}, {"BA", 20}, {"BE", 16}, {"BG", 22},
     {"BH", 22}, {"BI", 27}, {"BR", 29}, {"BY", 28}, {"CH", 21}, {"CR", 22}, {"CY", 28}, {"CZ", 24},
     {"DE", 22}, {"DJ", 27}, {"DK", 18}, {"DO", 28}, {"EE", 20}, {"EG", 29}, {"ES", 24}, {"FI", 18},
     {"FK", 18}, {"FO", 18}, {"FR", 27}, {"GB", 22}, {"GE", 22}, {"GI", 23}, {"GL", 18}, {"GR", 27},
     {"GT", 28}, {"HN", 28}, {"HR", 21}, {"HU", 28}, {"IE", 22}, {"IL", 23}, {"IQ", 23}, {"IS", 26},
     {"IT", 27}, {"JO", 30}, {"KW", 30}, {"KZ", 20}, {"LB", 28}, {"LC", 32}, {"LI", 21}, {"LT", 20},
     {"LU", 20}, {"LV", 21}, {"LY", 25}, {"MC", 27}, {"MD", 24}, {"ME", 22}, {"MK", 19}, {"MN", 20},
     {"MR", 27}, {"MT", 31}, {"MU", 30}, {"NI", 28}, {"NL", 18}, {"NO", 15}, {"OM", 23}, {"PK", 24},
     {"PL", 28}, {"PS", 29}, {"PT", 25}, {"QA", 29}, {"RO", 24}, {"RS", 22}, {"RU", 33}, {"SA", 24},
     {"SC", 31}, {"SD", 18}, {"SE", 24}, {"SI", 19}, {"SK", 24}, {"SM", 27}, {"SO", 23}, {"ST", 25},
     {"SV", 28}, {"TL", 23}, {"TN", 24}, {"TR", 26}, {"UA", 29}, {"VA", 22}, {"VG", 24}, {"XK", 20},
     {"YE", 30}});

}  // namespace

bool has_luhn_digit(std::string_view digits) {
    int sum = 0;
    for (std::size_t index = 0; index < digits.size(); ++index) {
        const int digit = digits[digits.size() - 1 - index] - '0';
        const int doubled = digit * 2 - (digit > 4 ? 9 : 0);
        sum += index % 2 == 0 ? digit : doubled;
    }
    return sum > 0 && sum % 10 == 0;
}

bool is_card_range(std::string_view digits) {
    if (digits.size() < 4) {
        return false;
    }
    int beginning = 0;
    for (const char digit : digits.substr(0, 4)) {
        beginning = beginning * 10 + (digit - '0');
    }
    return std::ranges::any_of(kCardRanges, [&](const CardRange& range) {
        return beginning >= range.low && beginning <= range.high &&
               digits.size() >= range.shortest && digits.size() <= range.longest;
    });
}

std::size_t iban_length(std::string_view country) {
    const auto* const found = std::ranges::find(kCountries, country, &Country::code);
    return found == kCountries.end() ? 0 : found->length;
}

bool has_iban_digits(std::string_view account) {
    int remainder = 0;
    for (std::size_t index = 0; index < account.size(); ++index) {
        const char character = lower(account[(index + 4) % account.size()]);
        if (is(character, kDigit)) {
            remainder = (remainder * 10 + (character - '0')) % 97;
        } else {
            remainder = (remainder * 100 + (character - 'a' + 10)) % 97;
        }
    }
    return remainder == 1;
}

bool is_ipv6(std::string_view text) {
    in6_addr ignored{};
    return inet_pton(AF_INET6, std::string(text).c_str(), &ignored) == 1;
}

}  // namespace belljar::privacy
