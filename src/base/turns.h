#pragma once

namespace belljar {

// Asks the kernel for short turns of this thread, which does little at a time and on which others
// wait: once it is woken, it need not wait for somebody who computes. What it starts has turns like
// everybody. A kernel before 6.12 has no such thing, and nothing changes.
void ask_for_short_turns();

}  // namespace belljar
