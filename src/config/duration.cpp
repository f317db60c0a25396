#include "config/duration.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace belljar::config {
namespace {

struct Unit {
    std::string_view suffix;
    double nanoseconds;
};

constexpr std::array<Unit, 5> kUnits{
    {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"m", 60e9}, {"h", 3600e9}}};

// A double cannot tell neighbours apart this close to the end of 64 bits; stay well below.
constexpr double kMaximumNanoseconds = 9e18;

std::unexpected<Error> not_a_duration() {
    return fail(ErrorCode::InvalidArgument,
                "expected a duration such as 30 (seconds), 0.5, 500ms, 1.5s or 2m");
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
    if (text.empty() || text.front() < '0' || text.front() > '9') {
        return not_a_duration();  // from_chars alone would also read "-1", "inf" and "nan"
    }
    double count = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, count);
    if (error != std::errc{}) {
        return not_a_duration();
    }
    const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
    for (const Unit& unit : kUnits) {
        if (unit.suffix != suffix) {
            continue;
        }
        const double nanoseconds = std::round(count * unit.nanoseconds);
        if (nanoseconds > kMaximumNanoseconds) {
            return fail(ErrorCode::InvalidArgument, "the duration is too long to count");
        }
        return Duration(static_cast<Duration::rep>(nanoseconds));
    }
    return not_a_duration();
}

std::string format_duration(Duration duration) {
    struct Shown {
        std::string_view suffix;
        Duration size;
    };
    constexpr std::array<Shown, 4> kShown{{{"h", std::chrono::hours(1)},
                                           {"m", std::chrono::minutes(1)},
                                           {"s", std::chrono::seconds(1)},
                                           {"ms", std::chrono::milliseconds(1)}}};
    for (const Shown& unit : kShown) {
        if (duration >= unit.size && duration % unit.size == Duration::zero()) {
            return fmt::format("{}{}", duration / unit.size, unit.suffix);
        }
    }
    return fmt::format("{}s", to_seconds(duration));
}

}  // namespace belljar::config
