#include <algorithm>
#include <array>
#include <string>

#include "privacy/checksums.h"
#include "privacy/context.h"
#include "privacy/matchers.h"

namespace belljar::privacy {
namespace {

constexpr std::size_t kLongestCard = 19;
constexpr std::array<std::string_view, 3> kSsnWords{"ssn", "social security", "ss"};

// A number that goes on is another one.
bool ends_well(Text& text, std::size_t end) {
    const char next = text.at(end);
    if (is(next, kWord)) {
        return false;
    }
    if (next == '-') {
        return !text.is_at(end + 1, kWord);
    }
    return next != '.' || !text.is_at(end + 1, kDigit);
}

// Groups of digits with one separator between them.
struct Groups {
    std::size_t end = 0;  // 0: it is not of this form
    std::string digits{};
};

Groups read_groups(Text& text, std::size_t place, char separator,
                   std::span<const std::size_t> lengths) {
    Groups groups;
    for (const std::size_t length : lengths) {
        if (!groups.digits.empty()) {
            if (text.at(place) != separator) {
                return {};
            }
            ++place;
        }
        if (text.run(place, kDigit, length + 1) != length) {
            return {};
        }
        groups.digits += text.part(place, place + length);
        place += length;
    }
    groups.end = place;
    return groups;
}

bool is_grouped_card(Text& text, const Groups& groups, char separator) {
    return groups.end != 0 && ends_well(text, groups.end) && is_card_range(groups.digits) &&
           (separator == '-' || has_luhn_digit(groups.digits));
}

using Shape = std::span<const std::size_t>;
constexpr std::array<std::size_t, 5> kNineteen{4, 4, 4, 4, 3};
constexpr std::array<std::size_t, 4> kSixteen{4, 4, 4, 4};
constexpr std::array<std::size_t, 3> kFifteen{4, 6, 5};
constexpr std::array<std::size_t, 3> kFourteen{4, 6, 4};
constexpr std::array<Shape, 4> kCardShapes{kNineteen, kSixteen, kFifteen, kFourteen};

}  // namespace

std::size_t match_card(Text& text, std::size_t place) {
    const char before = text.before(place);
    if (before == '.' || before == '-') {
        return 0;
    }
    const std::size_t first = text.run(place, kDigit, kLongestCard + 1);
    if (first >= 13 && first <= kLongestCard) {
        const std::string_view digits = text.part(place, place + first);
        const bool card = is_card_range(digits) && has_luhn_digit(digits);
        return card && ends_well(text, place + first) ? place + first : 0;
    }
    if (first != 4) {
        return 0;
    }
    const char separator = text.at(place + 4);
    if (separator != ' ' && separator != '-') {
        return 0;
    }
    for (const Shape shape : kCardShapes) {
        const Groups groups = read_groups(text, place, separator, shape);
        if (is_grouped_card(text, groups, separator)) {
            return groups.end;
        }
    }
    return 0;
}

std::size_t match_ssn(Text& text, std::size_t place) {
    constexpr std::array<std::size_t, 3> kShape{3, 2, 4};
    const char before = text.before(place);
    if (before == '.' || before == '-' || before == '/' || before == '+') {
        return 0;
    }
    const std::size_t first = text.run(place, kDigit, 10);
    if (first != 3 && first != 9) {
        return 0;
    }
    const char separator = first == 3 ? text.at(place + 3) : '\0';
    Groups groups;
    if (first == 9) {
        groups = {.end = place + 9, .digits = std::string(text.part(place, place + 9))};
    } else if (separator == '-' || separator == ' ') {
        groups = read_groups(text, place, separator, kShape);
    }
    if (groups.end == 0 || !ends_well(text, groups.end)) {
        return 0;
    }
    const std::string_view digits = groups.digits;
    if (digits.starts_with("000") || digits.starts_with("666") || digits.starts_with('9') ||
        digits.substr(3, 2) == "00" || digits.substr(5) == "0000") {
        return 0;
    }
    return separator == '-' || is_announced(text, place, kSsnWords) ? groups.end : 0;
}

}  // namespace belljar::privacy
