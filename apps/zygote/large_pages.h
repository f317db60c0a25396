#pragma once

// A fork copies the entry of each page that its parent has written to, and the child's end removes
// it again. For a warm interpreter of 14 MiB that takes longer than most programs. Where the same
// memory is in pages of 2 MiB it takes next to nothing, and what a child writes to is still copied
// in pages of 4 KiB.
namespace belljar::zygote {

// From now on the interpreter's arenas come one after the other, from aligned pieces of memory.
void gather_arenas();
// Moves what is there now into large pages, as far as there are any. Arenas come from where they
// came before: what a guest needs in addition is its own.
void use_large_pages();

}  // namespace belljar::zygote
