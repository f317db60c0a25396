#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace belljar::mcp {

// The levels of log messages in every revision, so that they compare by weight.
enum class Severity { Debug, Info, Notice, Warning, Error, Critical, Alert, Emergency };

inline constexpr std::array<std::string_view, 8> kSeverityNames{
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};

[[nodiscard]] constexpr std::string_view name_of(Severity severity) {
    return kSeverityNames[static_cast<std::size_t>(severity)];
}

[[nodiscard]] constexpr std::optional<Severity> parse_severity(std::string_view name) {
    for (std::size_t index = 0; index < kSeverityNames.size(); ++index) {
        if (kSeverityNames[index] == name) {
            return static_cast<Severity>(index);
        }
    }
    return std::nullopt;
}

}  // namespace belljar::mcp
