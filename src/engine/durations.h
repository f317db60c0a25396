#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace belljar::engine {

// Upper ends of the classes into which durations fall; a last class is without end.
inline constexpr std::array<double, 16> kClassSeconds{
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300};

// How long something took, many times over.
struct Durations {
    std::array<std::uint64_t, kClassSeconds.size() + 1> classes{};
    Duration sum{};

    void add(Duration duration) {
        const auto* const end = std::ranges::lower_bound(kClassSeconds, to_seconds(duration));
        ++classes[static_cast<std::size_t>(end - kClassSeconds.begin())];
        sum += duration;
    }
};

}  // namespace belljar::engine
