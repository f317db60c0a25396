#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace belljar::mcp {

// The protocol revisions served, oldest first, so that they compare by age.
enum class Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
};

// Modern requests carry their version in `_meta` and stand alone; legacy ones follow `initialize`.
enum class Era { Legacy, Modern };

inline constexpr std::array kRevisions{Revision::V2024_11_05, Revision::V2025_03_26,
                                       Revision::V2025_06_18, Revision::V2025_11_25,
                                       Revision::V2026_07_28};
inline constexpr Revision kModernRevision = Revision::V2026_07_28;
inline constexpr Revision kNewestLegacyRevision = Revision::V2025_11_25;
// What a legacy client that names no revision is taken to speak, as the specification says.
inline constexpr Revision kAssumedRevision = Revision::V2025_03_26;

[[nodiscard]] std::string_view name_of(Revision revision);
[[nodiscard]] std::optional<Revision> parse_revision(std::string_view name);
// All of them, oldest first, for messages: "2024-11-05, 2025-03-26, ..."
[[nodiscard]] std::string revision_names();

[[nodiscard]] constexpr Era era_of(Revision revision) {
    return revision >= kModernRevision ? Era::Modern : Era::Legacy;
}

// True for every dated version from 2026-07-28 on, served here or not.
[[nodiscard]] bool names_modern_version(std::string_view version);

// The answer of `initialize`: the requested revision if it is a legacy one served here, otherwise
// the newest legacy one. A modern revision is never negotiated.
[[nodiscard]] Revision negotiate(std::string_view requested);

}  // namespace belljar::mcp
