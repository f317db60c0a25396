#pragma once

#include "execution/limits.h"
#include "execution/raw_exit.h"
#include "execution/result.h"

namespace belljar::outcome {

// Sets status, exit_code, signal, usage and, where a limit was reached, the denial that explains
// it. Looks only at what was observed from outside: our own kill reason first, then the kernel's
// counters, then signals, and the exit code last, because the guest chooses it.
void judge(const execution::RawExit& exit, const execution::Limits& limits,
           execution::RunResult& result);

}  // namespace belljar::outcome
