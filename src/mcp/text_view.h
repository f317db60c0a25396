#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/batch.h"
#include "engine/executor.h"
#include "execution/request.h"
#include "execution/result.h"

namespace belljar::mcp {

// A run as a model reads it: what the program wrote, then what else is worth knowing, each part on
// lines of its own. Compact: long streams are cut in the middle, and what the program has said
// itself is not said again. Always valid UTF-8 and never empty.
[[nodiscard]] std::string text_view(const execution::RunResult& result,
                                    execution::OutputForm form = execution::OutputForm::Compact);

// What ended a run that did not end well, and what to do about it; empty for one that did.
[[nodiscard]] std::string status_line(const execution::RunResult& result);

// The beginning and the end of a text that has more bytes than the limit, in whole characters.
[[nodiscard]] std::string cut_middle(std::string_view text, std::size_t limit);

// Many runs, one after the other.
[[nodiscard]] std::string text_view(const engine::BatchResult& result);

// The installation in a few lines.
[[nodiscard]] std::string text_view(const engine::SandboxInfo& info);

// Its languages, each with its version or why it cannot be used.
[[nodiscard]] std::string runners_view(const engine::SandboxInfo& info);

}  // namespace belljar::mcp
