#pragma once

#include <cstddef>
#include <cstdint>

// A fork copies the entry of each page that its parent has written to, and the child's end removes
// it again. For a warm interpreter of 14 MiB that takes longer than most programs. Where the same
// memory is in pages of 2 MiB it takes next to nothing, and what a child writes to is still copied
// in pages of 4 KiB.
namespace belljar::zygote {

constexpr std::size_t kLargePage = std::size_t{2} << 20U;

// Memory of that many bytes, a multiple of a large page, that begins with one; null: there is none.
void* reserve_large_pages(std::size_t size);
// Moves what is there into large pages; false: there are none, or not for that.
bool collapse(std::uintptr_t begin, std::size_t size);

// From now on the interpreter's arenas come one after the other, from aligned pieces of memory.
void gather_arenas();
// Moves what is there now into large pages, as far as there are any. Arenas come from where they
// came before: what a guest needs in addition is its own.
void use_large_pages();

}  // namespace belljar::zygote
