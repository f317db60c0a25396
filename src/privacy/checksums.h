#pragma once

#include <string_view>

namespace belljar::privacy {

// The check digit of cards. Digits alone.
[[nodiscard]] bool has_luhn_digit(std::string_view digits);

// Whether a card of that length may begin like this, by the ranges that issuers have.
[[nodiscard]] bool is_card_range(std::string_view digits);

// How long account numbers of a country are; 0 if there are none. Two letters in upper case.
[[nodiscard]] std::size_t iban_length(std::string_view country);

// ISO 7064 MOD 97-10. Letters and digits alone, in either case.
[[nodiscard]] bool has_iban_digits(std::string_view account);

// As inet_pton reads it.
[[nodiscard]] bool is_ipv6(std::string_view text);

}  // namespace belljar::privacy
