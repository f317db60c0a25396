#pragma once

#include <vector>

#include "execution/request.h"
#include "execution/result.h"
#include "mcp/answer.h"

namespace belljar::mcp {

// What a program has shown, as content for a model, in order. Compact: each output in its best
// form, a picture before text, and not the text that stands as the run's value already. Full: every
// form that is a picture or text.
[[nodiscard]] std::vector<Content> content_of(const execution::RunResult& result,
                                              execution::OutputForm form);

}  // namespace belljar::mcp
