#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "execution/governance.h"
#include "execution/result.h"

namespace belljar::engine {

// Whose run it was.
struct EventSubject {
    std::string principal{};
    std::optional<std::string> execution_id{};
    std::optional<std::string> conversation_id{};
};

// Whether the rule of a denial is one that ordinary programs never meet: it stands for a way out of
// a jar, not for a mistake.
[[nodiscard]] bool is_escape(std::string_view rule);

// A "denial", or an "escape".
[[nodiscard]] execution::SecurityEvent event_of(const execution::Denial& denial,
                                                EventSubject subject);

}  // namespace belljar::engine
