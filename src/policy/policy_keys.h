#pragma once

#include <array>
#include <string_view>

namespace belljar::policy {

// The keys of policy files, table by table; docs/POLICY.md explains them.
inline constexpr auto kRootKeys = std::to_array<std::string_view>(
    {"version", "default_profile", "profiles", "principals", "tool_sets"});
inline constexpr auto kProfileKeys = std::to_array<std::string_view>(
    {"description", "extends", "imports", "languages", "network", "limits", "tool_sets",
     "isolation", "warn_builtins", "scan", "privacy"});
inline constexpr auto kImportKeys = std::to_array<std::string_view>(
    {"python", "python_add", "python_remove", "javascript", "javascript_add", "javascript_remove"});
inline constexpr auto kLimitKeys =
    std::to_array<std::string_view>({"timeout", "memory", "cpu", "processes", "output", "tmp"});
inline constexpr auto kScanKeys =
    std::to_array<std::string_view>({"low", "medium", "high", "critical", "rules"});
inline constexpr auto kPrivacyKeys = std::to_array<std::string_view>({"mask"});
inline constexpr auto kRuleKeys = std::to_array<std::string_view>({"profile"});

}  // namespace belljar::policy
