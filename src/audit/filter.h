#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "audit/line.h"

namespace belljar::audit {

// Which records are meant. Everything that is given must hold.
struct Filter {
    using WallTime = std::chrono::system_clock::time_point;

    std::optional<std::string> principal{};  // empty text: the one without a name
    std::optional<std::string> execution_id{};
    std::optional<std::string> conversation_id{};
    std::optional<std::string> tool{};
    std::optional<std::string> status{};
    std::optional<std::string> kind{};
    std::optional<WallTime> since{};  // then or later
    std::optional<WallTime> until{};  // before

    bool operator==(const Filter&) const = default;
};

// Whether the record is one of them. What is not there, also because it was erased, matches
// nothing.
[[nodiscard]] bool matches(const Filter& filter, const LineParts& parts);

}  // namespace belljar::audit
