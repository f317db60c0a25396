#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace belljar::config {

// Reads seconds ("30", "0.5") or a number with a unit: "500ms", "1.5s", "2m", "1h".
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);

// The shortest form that parse_duration reads back: "30s", "5m", "1500ms".
[[nodiscard]] std::string format_duration(Duration duration);

}  // namespace belljar::config
