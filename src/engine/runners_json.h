#pragma once

#include <boost/json/array.hpp>

#include "base/json.h"
#include "engine/executor.h"

namespace belljar::engine {

// Every known language, usable or not, as GET /v1/runners and list_runners show it.
[[nodiscard]] json::array runners_json(const SandboxInfo& info);

}  // namespace belljar::engine
