#pragma once

#include "execution/limits.h"
#include "execution/raw_exit.h"
#include "execution/result.h"

namespace belljar::outcome {

// Sets status, exit_code, signal, usage and denials. The status depends only on what was observed
// from outside: our own kill reason first, then the kernel's counters, then signals, and the exit
// code last, because the guest chooses it. Comes after the guest's report was read, because a
// denial may repeat, as the guest's word, what that says.
void judge(const execution::RawExit& exit, const execution::Limits& limits,
           execution::RunResult& result);

}  // namespace belljar::outcome
