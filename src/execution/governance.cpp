#include "execution/governance.h"

#include <array>

namespace belljar::execution {
namespace {

constexpr std::array<std::string_view, 4> kSeverities{"low", "medium", "high", "critical"};
constexpr std::array<std::string_view, 4> kActions{"note", "warn", "ask", "refuse"};

template <typename T>
std::optional<T> parse(const std::array<std::string_view, 4>& names, std::string_view name) {
    for (std::size_t index = 0; index < names.size(); ++index) {
        if (names.at(index) == name) {
            return static_cast<T>(index);
        }
    }
    return std::nullopt;
}

}  // namespace

std::string_view name_of(Severity severity) {
    return kSeverities.at(static_cast<std::size_t>(severity));
}

std::optional<Severity> parse_severity(std::string_view name) {
    return parse<Severity>(kSeverities, name);
}

std::string_view name_of(ScanAction action) {
    return kActions.at(static_cast<std::size_t>(action));
}

std::optional<ScanAction> parse_scan_action(std::string_view name) {
    return parse<ScanAction>(kActions, name);
}

}  // namespace belljar::execution
