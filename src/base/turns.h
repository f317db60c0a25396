#pragma once

#include <sys/types.h>

namespace belljar {

// Asks the kernel for short turns of this thread, which does little at a time and on which others
// wait: once it is woken, it need not wait for somebody who computes. What it starts has turns like
// everybody. A kernel before 6.12 has no such thing, and nothing changes.
void ask_for_short_turns();

// The opposite, for a process that has nothing left to do but to end: whoever is woken meanwhile
// need not wait until the kernel has taken it apart. Its share of the processor stays the same.
// The number must be that of a child which was not waited for. Nothing changes for a process of
// another user without the right to do that.
void let_others_go_first(pid_t ending);

}  // namespace belljar
