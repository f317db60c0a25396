#include "base/utc_time.h"

#include <fmt/format.h>

#include <charconv>

namespace belljar {
namespace {

using std::chrono::system_clock;

// The number that takes so many digits; they are removed.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
    int number = 0;
    if (text.size() < digits || text.front() < '0' || text.front() > '9') {
        return std::nullopt;
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number);
    if (error != std::errc{} || end != text.data() + digits) {
        return std::nullopt;
    }
    text.remove_prefix(digits);
    return number;
}

bool take(std::string_view& text, std::string_view either) {
    if (text.empty() || !either.contains(text.front())) {
        return false;
    }
    text.remove_prefix(1);
    return true;
}

std::optional<std::chrono::sys_days> take_day(std::string_view& text) {
    const std::optional<int> year = take_number(text, 4);
    const bool first = take(text, "-");
    const std::optional<int> month = take_number(text, 2);
    const bool second = take(text, "-");
    const std::optional<int> day = take_number(text, 2);
    if (!year || !month || !day || !first || !second || *year < 1970) {
        return std::nullopt;
    }
    const std::chrono::year_month_day date{std::chrono::year(*year),
                                           std::chrono::month(static_cast<unsigned>(*month)),
                                           std::chrono::day(static_cast<unsigned>(*day))};
    return date.ok() ? std::optional(std::chrono::sys_days(date)) : std::nullopt;
}

// Of ".123456789"; what is finer than milliseconds is left out.
std::optional<std::chrono::milliseconds> take_fraction(std::string_view& text) {
    if (!take(text, ".")) {
        return std::chrono::milliseconds(0);
    }
    std::size_t digits = 0;
    int milliseconds = 0;
    for (; !text.empty() && text.front() >= '0' && text.front() <= '9' && digits < 9; ++digits) {
        if (digits < 3) {
            milliseconds = milliseconds * 10 + (text.front() - '0');
        }
        text.remove_prefix(1);
    }
    for (std::size_t missing = digits; missing < 3; ++missing) {
        milliseconds *= 10;
    }
    return digits > 0 ? std::optional(std::chrono::milliseconds(milliseconds)) : std::nullopt;
}

std::optional<std::chrono::minutes> take_clock(std::string_view& text) {
    const std::optional<int> hours = take_number(text, 2);
    const bool colon = take(text, ":");
    const std::optional<int> minutes = take_number(text, 2);
    if (!hours || !colon || !minutes || *hours > 23 || *minutes > 59) {
        return std::nullopt;
    }
    return std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
}

std::optional<std::chrono::minutes> take_offset(std::string_view& text) {
    if (take(text, "Zz")) {
        return std::chrono::minutes(0);
    }
    const bool east = text.starts_with('+');
    if (!take(text, "+-")) {
        return std::nullopt;
    }
    const std::optional<std::chrono::minutes> clock = take_clock(text);
    return clock ? std::optional(east ? *clock : -*clock) : std::nullopt;
}

// The clock counts nanoseconds, which end in the year 2262.
system_clock::time_point countable(std::chrono::sys_time<std::chrono::milliseconds> time) {
    constexpr auto kLast =
        std::chrono::floor<std::chrono::milliseconds>(system_clock::time_point::max());
    return time > kLast ? system_clock::time_point::max() : system_clock::time_point(time);
}

}  // namespace

std::string format_utc(system_clock::time_point time) {
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::milliseconds>(time - day));
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                       clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                       clock.subseconds().count());
}

std::optional<system_clock::time_point> parse_utc(std::string_view text) {
    const std::optional<std::chrono::sys_days> day = take_day(text);
    if (!day) {
        return std::nullopt;
    }
    if (text.empty()) {
        return countable(*day);
    }
    const bool divided = take(text, "Tt ");
    const std::optional<std::chrono::minutes> clock = take_clock(text);
    const bool colon = take(text, ":");
    const std::optional<int> seconds = take_number(text, 2);
    const std::optional<std::chrono::milliseconds> fraction = take_fraction(text);
    const std::optional<std::chrono::minutes> offset = take_offset(text);
    const bool whole = divided && clock && colon && seconds && *seconds <= 60 && fraction && offset;
    if (!whole || !text.empty()) {
        return std::nullopt;
    }
    return countable(*day + *clock + std::chrono::seconds(*seconds) + *fraction - *offset);
}

}  // namespace belljar
