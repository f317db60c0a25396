#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/clock.h"

namespace belljar::execution {

// Limits that somebody has an opinion on: what a language's programs get if a call asks for nothing
// else, as far as policy allows it.
struct LimitChoices {
    std::optional<Duration> timeout{};
    std::optional<Bytes> memory{};
    std::optional<double> cpu{};
    std::optional<std::uint32_t> processes{};
    std::optional<Bytes> tmp{};

    bool operator==(const LimitChoices&) const = default;
};

}  // namespace belljar::execution
