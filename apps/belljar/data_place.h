#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "config/settings.h"

namespace belljar::apps {

// server.data_dir, or the usual place for this user.
[[nodiscard]] std::string choose_data_directory(const config::Settings& settings);

// For commands that work beside a running server: takes no lock. Makes the directory, private to
// its owner, if it is not there.
[[nodiscard]] Result<Fd> open_data_directory(const std::string& path);

}  // namespace belljar::apps
