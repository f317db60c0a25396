#include <algorithm>
#include <array>

#include "privacy/context.h"
#include "privacy/matchers.h"

namespace belljar::privacy {
namespace {

constexpr auto kPhoneWords = std::to_array<std::string_view>(
    {"phone",   "telephone", "tel",         "mobile",   "mob",  "cell",  "cellphone", "fax",
     "call",    "called",    "calling",     "callback", "dial", "sms",   "whatsapp",  "contact",
     "telefon", "handy",     "phonenumber", "phones",   "ph",   "msisdn"});

constexpr std::size_t kMostDigits = 15;      // of E.164
constexpr std::size_t kUsualDigits = 11;     // a number that has so many does not go on
constexpr std::size_t kFewestDigits = 8;     // behind a plus, in groups
constexpr std::size_t kFewestTogether = 10;  // behind a plus, without groups
constexpr std::size_t kFewestAnnounced = 7;

bool is_separator(char character) {
    return character == ' ' || character == '-' || character == '.';
}

bool ends_well(Text& text, std::size_t end) {
    const char next = text.at(end);
    if (next == 'x') {  // an extension
        return text.is_at(end + 1, kDigit);
    }
    if (next == '-') {
        return !text.is_at(end + 1, kWord);
    }
    return !is(next, kWord) && ((next != '.' && next != ':') || !text.is_at(end + 1, kDigit));
}

std::size_t skip_separator(Text& text, std::size_t place) {
    return is_separator(text.at(place)) ? place + 1 : place;
}

bool has_digits(Text& text, std::size_t place, std::size_t count) {
    return text.run(place, kDigit, count + 1) == count;
}

// Whether it is known already that it is a number of North America.
enum class Known { No, Yes };

// 555-123-4567 and (555) 123-4567. Blanks alone are columns of a table.
std::size_t match_ten(Text& text, std::size_t place, Known known) {
    const bool in_brackets = text.at(place) == '(';
    const std::size_t area = in_brackets ? place + 1 : place;
    if (!has_digits(text, area, 3)) {
        return 0;
    }
    std::size_t next = area + 3;
    if (in_brackets) {
        if (text.at(next) != ')') {
            return 0;
        }
        ++next;
    }
    const char first = text.at(next);
    const std::size_t exchange = skip_separator(text, next);
    if ((exchange == next && !in_brackets) || !has_digits(text, exchange, 3)) {
        return 0;
    }
    const char second = text.at(exchange + 3);
    const std::size_t line = exchange + 4;
    if (!is_separator(second) || !has_digits(text, line, 4) || !ends_well(text, line + 4)) {
        return 0;
    }
    const bool valid = text.at(area) >= '2' && text.at(exchange) >= '2';
    const bool accepted = known == Known::Yes || in_brackets || (first == second && first != ' ') ||
                          (first == ' ' && second == '-' && valid);
    return accepted ? line + 4 : 0;
}

// With the 1 of North America before it.
std::size_t match_with_one(Text& text, std::size_t one, Known known) {
    const std::size_t area = skip_separator(text, one + 1);
    if (const std::size_t end = match_ten(text, area, known); end != 0 && area > one + 1) {
        return end;
    }
    return 0;
}

struct Groups {
    std::size_t end = 0;  // of the last one that fits
    std::size_t digits = 0;
    std::size_t count = 0;
    std::array<std::size_t, 3> lengths{};  // of the first ones
};

// Groups of digits, in brackets or not, until there are `enough`.
Groups read_groups(Text& text, std::size_t place, std::size_t enough) {
    Groups groups;
    while (groups.digits < enough) {
        const bool in_brackets = text.at(place) == '(';
        const std::size_t begin = in_brackets ? place + 1 : place;
        const std::size_t length = text.run(begin, kDigit, kMostDigits + 1);
        std::size_t end = begin + length;
        if (length == 0 || groups.digits + length > kMostDigits ||
            (in_brackets && text.at(end) != ')')) {
            break;
        }
        end += in_brackets ? 1 : 0;
        const char next = text.at(end);
        if (is(next, kWord) && next != 'x' && !in_brackets) {
            break;
        }
        if (next == ':' && text.is_at(end + 1, kDigit)) {
            break;
        }
        groups.digits += length;
        groups.end = end;
        if (groups.count < groups.lengths.size()) {
            groups.lengths.at(groups.count) = length;
        }
        ++groups.count;
        const bool slash = next == '/' && groups.count == 1;  // 030/123456
        const std::size_t after = slash ? end + 1 : skip_separator(text, end);
        if ((after == end && !in_brackets && next != '(') ||
            (text.at(after) != '(' && !text.is_at(after, kDigit))) {
            break;
        }
        place = after;
    }
    return groups;
}

bool is_date(const Groups& groups) {
    const auto& length = groups.lengths;
    return groups.count >= 3 && ((length[0] == 4 && length[1] <= 2 && length[2] <= 2) ||
                                 (length[0] <= 2 && length[1] <= 2 && length[2] == 4));
}

std::size_t match_international(Text& text, std::size_t place) {
    const char first = text.at(place);
    if (first < '1' || first > '9') {
        return 0;
    }
    if (first == '1') {
        if (has_digits(text, place, 11)) {
            return ends_well(text, place + 11) ? place + 11 : 0;
        }
        return match_with_one(text, place, Known::Yes);
    }
    const Groups groups = read_groups(text, place, kUsualDigits);
    const std::size_t fewest = groups.count > 1 ? kFewestDigits : kFewestTogether;
    return groups.digits >= fewest && ends_well(text, groups.end) ? groups.end : 0;
}

std::size_t match_announced(Text& text, std::size_t place) {
    if (!is_announced(text, place, kPhoneWords)) {
        return 0;
    }
    const Groups groups = read_groups(text, place, kFewestTogether);
    const bool fits =
        groups.digits >= kFewestAnnounced && !is_date(groups) && ends_well(text, groups.end);
    return fits ? groups.end : 0;
}

}  // namespace

std::size_t match_phone(Text& text, std::size_t place) {
    const char before = text.before(place);
    if (before == '.' || before == '-' || before == '#' || before == '$' || before == '+') {
        return 0;
    }
    if (text.at(place) == '+') {
        return match_international(text, place + 1);
    }
    if (const std::size_t end = match_ten(text, place, Known::No); end != 0) {
        return end;
    }
    if (text.at(place) == '1') {
        if (const std::size_t end = match_with_one(text, place, Known::No); end != 0) {
            return end;
        }
    }
    if (text.at(place) == '0' && text.at(place + 1) == '0') {
        const std::size_t country = text.run(place + 2, kDigit, 4);
        const Groups groups = read_groups(text, place, kUsualDigits + 2);
        if (country >= 1 && country <= 3 && groups.count >= 3 &&
            groups.digits >= kFewestDigits + 2 && !is_date(groups) && ends_well(text, groups.end)) {
            return groups.end;
        }
    }
    return match_announced(text, place);
}

}  // namespace belljar::privacy
