#pragma once

#include <optional>
#include <string>

#include "approved/directory.h"
#include "base/fd.h"
#include "base/result.h"
#include "config/settings.h"

namespace belljar::apps {

// Where approved tools come from: the directory of the settings or, without one, that beside this
// program; nothing if there is neither. An error if the settings name what cannot be used.
[[nodiscard]] Result<std::optional<approved::Source>> find_tools(
    const config::ToolSettings& settings);

// Opens the directory of `source` for good and lets the source lead there: the way to it may be
// closed to the user that a server becomes, as that into root's home is.
[[nodiscard]] Result<Fd> hold_open(approved::Source& source);

// The directory of logs without links and dots, as the warden needs it; empty if there is none.
[[nodiscard]] Result<std::string> find_logs(const config::ToolSettings& settings);

}  // namespace belljar::apps
