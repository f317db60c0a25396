#pragma once

#include <string>

#include "base/fd.h"
#include "base/log.h"

namespace belljar::keeper {

struct Options {
    std::string mode = "auto";
    std::string log_level = "info";
    std::string folder{};  // of the programs, with a slash at the end
};

// Prepares this host, starts the warden and waits for its end; then removes whatever is left of it.
// Returns the exit code.
int keep(Fd server, const Options& options, const Log& log);

// After a keeper that died: removes what is left. For the warden to become as its last act.
int clean_up(const Log& log);

}  // namespace belljar::keeper
