#include "mcp/revision.h"

#include <algorithm>

namespace belljar::mcp {
namespace {

bool is_date(std::string_view text) {
    constexpr std::string_view kShape = "dddd-dd-dd";
    return std::ranges::equal(text, kShape, [](char letter, char shape) {
        return shape == '-' ? letter == '-' : letter >= '0' && letter <= '9';
    });
}

}  // namespace

std::string_view name_of(Revision revision) {
    switch (revision) {
        case Revision::V2024_11_05:
            return "2024-11-05";
        case Revision::V2025_03_26:
            return "2025-03-26";
        case Revision::V2025_06_18:
            return "2025-06-18";
        case Revision::V2025_11_25:
            return "2025-11-25";
        case Revision::V2026_07_28:
            return "2026-07-28";
    }
    return "";
}

std::optional<Revision> parse_revision(std::string_view name) {
    for (const Revision revision : kRevisions) {
        if (name_of(revision) == name) {
            return revision;
        }
    }
    return std::nullopt;
}

std::string revision_names() {
    std::string names;
    for (const Revision revision : kRevisions) {
        names += names.empty() ? "" : ", ";
        names += name_of(revision);
    }
    return names;
}

bool names_modern_version(std::string_view version) {
    return is_date(version) && version >= name_of(kModernRevision);
}

Revision negotiate(std::string_view requested) {
    const std::optional<Revision> revision = parse_revision(requested);
    return revision && era_of(*revision) == Era::Legacy ? *revision : kNewestLegacyRevision;
}

}  // namespace belljar::mcp
