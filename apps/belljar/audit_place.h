#pragma once

#include <memory>
#include <string>

#include "audit/trail.h"
#include "base/log.h"
#include "base/result.h"
#include "config/settings.h"

namespace belljar::apps {

// Which program of ours writes; it decides where copies for standard output go.
enum class TrailUser { Server, Speaker, Command };

// audit.path, or `audit` in the data directory.
[[nodiscard]] std::string choose_audit_directory(const config::Settings& settings);

// The trail of this process, not started yet. nullptr if the settings want none; a local program
// keeps one only where the settings name a place for it.
[[nodiscard]] Result<std::unique_ptr<audit::Trail>> prepare_trail(const config::Settings& settings,
                                                                  TrailUser user);

// The one that a server keeps there, for a command that decides something beside it; nullptr if
// there is none. Started.
[[nodiscard]] Result<std::unique_ptr<audit::Trail>> join_trail(const config::Settings& settings);

}  // namespace belljar::apps
