#pragma once

#include <vector>

#include "execution/limits.h"
#include "execution/raw_exit.h"
#include "execution/result.h"

namespace belljar::outcome {

// What a run was refused, in words a model can act on: the limits that it reached, then the calls
// that the kernel refused, and last what only the guest says of itself. One entry per kind, the one
// that explains the status first, and never more than 16.
[[nodiscard]] std::vector<execution::Denial> explain_denials(const execution::RawExit& exit,
                                                             const execution::Limits& limits,
                                                             const execution::RunResult& result);

}  // namespace belljar::outcome
