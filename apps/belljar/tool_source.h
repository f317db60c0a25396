#pragma once

#include <optional>
#include <string>

#include "approved/directory.h"
#include "base/result.h"
#include "config/settings.h"

namespace belljar::apps {

// Where approved tools come from: the directory of the settings or, without one, that beside this
// program; nothing if there is neither. An error if the settings name what cannot be used.
[[nodiscard]] Result<std::optional<approved::Source>> find_tools(
    const config::ToolSettings& settings);

// The directory of logs without links and dots, as the warden needs it; empty if there is none.
[[nodiscard]] Result<std::string> find_logs(const config::ToolSettings& settings);

}  // namespace belljar::apps
