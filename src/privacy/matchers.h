#pragma once

#include <cstddef>

#include "privacy/text.h"
#include "privacy/types.h"

namespace belljar::privacy {

// Each looks at one place, which is not inside a word, and says where what begins there ends; 0 if
// nothing does. Looks at no more than kLongestMatch bytes from there.
inline constexpr std::size_t kLongestMatch = 640;

// 13 to 19 digits of an issuer's range: together or with blanks, if the check digit fits; in groups
// with hyphens, as they stand on cards, in any case.
[[nodiscard]] std::size_t match_card(Text& text, std::size_t place);
// 123-45-6789; with blanks or in one only if it is announced.
[[nodiscard]] std::size_t match_ssn(Text& text, std::size_t place);
[[nodiscard]] std::size_t match_phone(Text& text, std::size_t place);
[[nodiscard]] std::size_t match_ip_address(Text& text, std::size_t place);
[[nodiscard]] std::size_t match_mac_address(Text& text, std::size_t place);
[[nodiscard]] std::size_t match_iban(Text& text, std::size_t place);

// A key may be longer than what is looked at: what follows of these belongs to it.
struct KeyMatch {
    std::size_t end = 0;
    Classes more = 0;
};
[[nodiscard]] KeyMatch match_api_key(Text& text, std::size_t place);

// Where an address begins and ends; the end is 0 if there is none.
struct EmailMatch {
    std::size_t begin = 0;
    std::size_t end = 0;
};

// Around the @, or its %40, at `sign`. Does not begin before `from`.
[[nodiscard]] EmailMatch match_email(Text& text, std::size_t from, std::size_t sign);
// Where what could become the beginning of an address begins at the end of the text; its size if
// nothing could.
[[nodiscard]] std::size_t find_open_email(const Text& text, std::size_t from);

}  // namespace belljar::privacy
