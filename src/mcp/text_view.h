#pragma once

#include <string>

#include "engine/batch.h"
#include "engine/executor.h"
#include "execution/result.h"

namespace belljar::mcp {

// A run as a model reads it: what the program wrote, then what else is worth knowing, each part on
// lines of its own. Always valid UTF-8 and never empty.
[[nodiscard]] std::string text_view(const execution::RunResult& result);

// Many runs, one after the other.
[[nodiscard]] std::string text_view(const engine::BatchResult& result);

// The installation in a few lines.
[[nodiscard]] std::string text_view(const engine::SandboxInfo& info);

// Its languages, each with its version or why it cannot be used.
[[nodiscard]] std::string runners_view(const engine::SandboxInfo& info);

}  // namespace belljar::mcp
