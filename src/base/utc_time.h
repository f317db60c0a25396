#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace belljar {

// Wall time as RFC 3339 in UTC with milliseconds: 2026-07-28T09:15:04.123Z
[[nodiscard]] std::string format_utc(std::chrono::system_clock::time_point time);

// RFC 3339 with any offset, or a day alone, which is its beginning in UTC. Nothing if it is
// neither, or before 1970. What is later than the clock can count is the last time that it can.
[[nodiscard]] std::optional<std::chrono::system_clock::time_point> parse_utc(std::string_view text);

}  // namespace belljar
