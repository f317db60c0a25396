#pragma once

#include <chrono>
#include <string>

namespace belljar {

// Deadlines and durations use the monotonic clock; wall time is only for showing to people.
using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Duration = std::chrono::nanoseconds;

[[nodiscard]] constexpr double to_seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

// Now in UTC as RFC 3339 with milliseconds: 2026-07-28T09:15:04.123Z
[[nodiscard]] std::string utc_timestamp();

}  // namespace belljar
