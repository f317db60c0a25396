#pragma once

#include "base/json.h"
#include "engine/executor.h"

namespace belljar::mcp {

// The arguments of one run, with what this installation allows.
[[nodiscard]] json::object run_input_schema(const engine::SandboxInfo& info);

// The one record that every run gives.
[[nodiscard]] json::object run_output_schema();

}  // namespace belljar::mcp
