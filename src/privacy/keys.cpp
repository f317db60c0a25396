#include <algorithm>
#include <array>
#include <string>

#include "privacy/checksums.h"
#include "privacy/context.h"
#include "privacy/matchers.h"

namespace belljar::privacy {
namespace {

// What must be among the first characters behind a prefix, so that it is no word.
enum class Mixed { Any, DigitAndUpper };

struct Prefix {
    std::string_view text;
    std::size_t fewest;  // characters behind it
    Mixed mixed = Mixed::Any;
};

constexpr auto kPrefixes = std::to_array<Prefix>({{"AKIA", 16},
                                                  {"ASIA", 16, Mixed::DigitAndUpper},
                                                  {"AIza", 35},
                                                  {"ghp_", 36},
                                                  {"gho_", 36},
                                                  {"ghu_", 36},
                                                  {"ghs_", 36},
                                                  {"ghr_", 36},
                                                  {"github_pat_", 22, Mixed::DigitAndUpper},
                                                  {"glpat-", 20},
                                                  {"hf_", 30, Mixed::DigitAndUpper},
                                                  {"npm_", 36},
                                                  {"pypi-", 40, Mixed::DigitAndUpper},
                                                  {"rk_live_", 16},
                                                  {"rk_test_", 16},
                                                  {"sk-", 20, Mixed::DigitAndUpper},
                                                  {"sk_live_", 16},
                                                  {"sk_test_", 16},
                                                  {"xoxa-", 10},
                                                  {"xoxb-", 10},
                                                  {"xoxe-", 10},
                                                  {"xoxp-", 10},
                                                  {"xoxr-", 10},
                                                  {"xoxs-", 10}});

constexpr auto kKeyWords = std::to_array<std::string_view>(
    {"bearer", "api_key", "apikey", "api-key", "api key", "secret", "secret_key", "access_key",
     "access_token", "auth_token", "client_secret", "private_key", "token", "password", "passwd"});

constexpr Classes kName = kWord | kHyphen;
constexpr Classes kAnyKey = kName | kBase64;
constexpr std::size_t kShortest = 14;  // prefix included
constexpr std::size_t kLookedAt = 64;  // for digits and letters
constexpr std::size_t kFewestAnnounced = 20;
constexpr std::size_t kLongestHeader = 512;

bool has_digit_and(std::string_view text, bool (*wanted)(char)) {
    return std::ranges::any_of(text, [](char character) { return is(character, kDigit); }) &&
           std::ranges::any_of(text, wanted);
}

bool is_upper(char character) { return character >= 'A' && character <= 'Z'; }
bool is_letter(char character) { return is(character, kLetter); }

bool starts_with(Text& text, std::size_t place, std::string_view prefix) {
    for (std::size_t index = 0; index < prefix.size(); ++index) {
        if (text.at(place + index) != prefix[index]) {
            return false;
        }
    }
    return true;
}

KeyMatch match_prefixed(Text& text, std::size_t place) {
    for (const Prefix& prefix : kPrefixes) {
        if (text.at(place) != prefix.text.front() || !starts_with(text, place, prefix.text)) {
            continue;
        }
        const std::size_t begin = place + prefix.text.size();
        const std::size_t length = text.run(begin, kName, kLookedAt);
        const bool mixed =
            prefix.mixed == Mixed::Any || has_digit_and(text.part(begin, begin + length), is_upper);
        if (length >= prefix.fewest && mixed) {
            return {.end = begin + length, .more = kName};
        }
    }
    return {};
}

// A signed token in three parts, of which the first two are JSON: {"...
KeyMatch match_web_token(Text& text, std::size_t place) {
    if (!starts_with(text, place, "eyJ")) {
        return {};
    }
    const std::size_t header = text.run(place, kName, kLongestHeader);
    if (header < 12 || !starts_with(text, place + header, ".eyJ")) {
        return {};
    }
    return {.end = place + header + 4, .more = kName | kDot};
}

// Any long word that is called a key.
KeyMatch match_announced(Text& text, std::size_t place) {
    const std::size_t length = text.run(place, kAnyKey, kFewestAnnounced);
    if (length < kFewestAnnounced || !is_announced(text, place, kKeyWords)) {
        return {};
    }
    const std::size_t seen = text.run(place, kAnyKey, kLookedAt);
    const bool mixed = has_digit_and(text.part(place, place + seen), is_letter);
    return mixed ? KeyMatch{.end = place + seen, .more = kAnyKey} : KeyMatch{};
}

}  // namespace

KeyMatch match_api_key(Text& text, std::size_t place) {
    if (is(text.before(place), kHyphen) || text.run(place, kAnyKey, kShortest) < kShortest) {
        return {};
    }
    if (const KeyMatch match = match_prefixed(text, place); match.end != 0) {
        return match;
    }
    if (const KeyMatch match = match_web_token(text, place); match.end != 0) {
        return match;
    }
    return match_announced(text, place);
}

std::size_t match_iban(Text& text, std::size_t place) {
    for (std::size_t index = 0; index < 4; ++index) {
        if (!text.is_at(place + index, index < 2 ? kLetter : kDigit)) {
            return 0;
        }
    }
    std::string account;
    for (std::size_t index = 0; index < 2; ++index) {
        account += static_cast<char>(text.at(place + index) & ~0x20);
    }
    const std::size_t length = iban_length(account);
    if (length == 0) {
        return 0;
    }
    const char after = text.at(place + 4);
    const char separator = after == ' ' || after == '-' ? after : '\0';
    account.clear();
    while (account.size() < length) {
        if (separator != '\0' && !account.empty() && account.size() % 4 == 0) {
            if (text.at(place) != separator) {
                return 0;
            }
            ++place;
        }
        if (!text.is_at(place, kAlphanumeric)) {
            return 0;
        }
        account += text.at(place);
        ++place;
    }
    return !text.is_at(place, kWord) && has_iban_digits(account) ? place : 0;
}

}  // namespace belljar::privacy
