#pragma once

#include <optional>
#include <string>

#include "mcp/provider.h"

namespace belljar::mcp {

struct Progress {
    double done = 0;  // more than the last time
    std::optional<double> total{};
    std::string message{};
};

// Each tells the client of a request something before its answer, if it wants to hear of it. False
// if it wants to and does not keep up.
bool tell_progress(const Asker& asker, const Progress& progress);
bool tell_log(const Asker& asker, Severity severity, json::value data);

}  // namespace belljar::mcp
