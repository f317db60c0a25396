#pragma once

#include "base/fd.h"

namespace belljar::zygote {

// Moves what the others left in pages of 4 KiB, and what is large enough to count, into large pages
// as well: beginnings and ends of the heap, data of the interpreter and its libraries, arenas of
// its first moments. These stay where they are and are mapped in pieces, so that no large page is
// seen as one, but a fork and its end take all pieces of a page together. Code and constants come
// along: of a file's pages each child would have to ask anew. `process` is the directory in /proc
// of the caller, which has one thread. Where something is not possible, it stays as it is.
void use_large_pages_for_rest(const Fd& process);

}  // namespace belljar::zygote
