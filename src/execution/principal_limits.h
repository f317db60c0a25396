#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace belljar::execution {

// What one principal may use, where that differs from what every principal may. Nothing: as all
// others; 0: as much as it likes.
struct PrincipalLimits {
    std::optional<std::uint32_t> requests_per_minute{};
    std::optional<std::uint32_t> concurrent_runs{};
    std::optional<std::uint64_t> runs_per_day{};
    std::optional<std::uint64_t> cpu_seconds_per_day{};
    std::optional<std::uint64_t> storage_bytes{};
    std::optional<std::string> profile{};  // of policy

    bool operator==(const PrincipalLimits&) const = default;
};

}  // namespace belljar::execution
