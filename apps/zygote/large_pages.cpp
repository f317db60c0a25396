#include "large_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // since Linux 6.1
#endif

extern "C" {
// Of the interpreter since 3.4, though not of its limited interface; checked for where it is used.
struct ArenaAllocator {
    void* context;
    void* (*take)(void* context, std::size_t size);
    void (*give_back)(void* context, void* arena, std::size_t size);
};
// NOLINTBEGIN(readability-identifier-naming): the interpreter's names
[[gnu::weak, gnu::visibility("default")]] void PyObject_GetArenaAllocator(ArenaAllocator* place);
[[gnu::weak, gnu::visibility("default")]] void PyObject_SetArenaAllocator(ArenaAllocator* chosen);
// NOLINTEND(readability-identifier-naming)
}

namespace belljar::zygote {
namespace {

constexpr std::size_t kPiece = 4 * kLargePage;
constexpr std::size_t kMostPieces = 64;

struct Piece {
    std::uintptr_t begin = 0;
    std::uintptr_t next = 0;

    [[nodiscard]] std::size_t left() const { return begin + kPiece - next; }
};

// The interpreter knows functions and a pointer, and there is one interpreter. Arenas are given
// back as ever: by munmap(), which does not care where they came from.
struct Gathering {
    ArenaAllocator original{};
    std::vector<Piece> pieces{};
};

void* take_arena(void* context, std::size_t size) {
    auto& gathering = *static_cast<Gathering*>(context);
    std::vector<Piece>& pieces = gathering.pieces;
    if (size <= kPiece && (pieces.empty() || pieces.back().left() < size) &&
        pieces.size() < kMostPieces) {
        if (void* const piece = reserve_large_pages(kPiece); piece != nullptr) {
            const auto begin = reinterpret_cast<std::uintptr_t>(piece);
            pieces.push_back({.begin = begin, .next = begin});
        }
    }
    if (pieces.empty() || pieces.back().left() < size) {
        return gathering.original.take(gathering.original.context, size);
    }
    void* const arena = reinterpret_cast<void*>(pieces.back().next);
    pieces.back().next += size;
    return arena;
}

void give_arena_back(void* context, void* arena, std::size_t size) {
    const ArenaAllocator& original = static_cast<Gathering*>(context)->original;
    original.give_back(original.context, arena, size);
}

// The heap of malloc(), from its end down to its beginning, which is in no page that is whole.
void collapse_heap() {
    const auto end = reinterpret_cast<std::uintptr_t>(::sbrk(0));
    std::uintptr_t page = end / kLargePage * kLargePage;
    for (std::size_t count = 0; count < kMostPieces; ++count) {
        page -= kLargePage;
        if (!collapse(page, kLargePage)) {
            return;
        }
    }
}

Gathering& the_gathering() {
    static Gathering gathering;
    return gathering;
}

}  // namespace

void* reserve_large_pages(std::size_t size) {
    void* const mapped = ::mmap(nullptr, size + kLargePage, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
        return nullptr;
    }
    const auto start = reinterpret_cast<std::uintptr_t>(mapped);
    const std::uintptr_t begin = (start + kLargePage - 1) / kLargePage * kLargePage;
    const auto unmap = [](std::uintptr_t from, std::size_t length) {
        if (length > 0) {
            ::munmap(reinterpret_cast<void*>(from), length);
        }
    };
    unmap(start, begin - start);
    unmap(begin + size, start + kLargePage - begin);
    return reinterpret_cast<void*>(begin);
}

bool collapse(std::uintptr_t begin, std::size_t size) {
    return ::madvise(reinterpret_cast<void*>(begin), size, MADV_COLLAPSE) == 0;
}

void gather_arenas() {
    if (PyObject_GetArenaAllocator == nullptr || PyObject_SetArenaAllocator == nullptr) {
        return;
    }
    Gathering& gathering = the_gathering();
    PyObject_GetArenaAllocator(&gathering.original);
    ArenaAllocator own{.context = &gathering, .take = take_arena, .give_back = give_arena_back};
    PyObject_SetArenaAllocator(&own);
}

void use_large_pages() {
    Gathering& gathering = the_gathering();
    for (const Piece& piece : gathering.pieces) {
        const std::uintptr_t used = (piece.next - piece.begin + kLargePage - 1) / kLargePage;
        for (std::uintptr_t page = 0; page < used; ++page) {
            collapse(piece.begin + page * kLargePage, kLargePage);
        }
    }
    collapse_heap();
    if (gathering.original.take != nullptr) {
        PyObject_SetArenaAllocator(&gathering.original);
    }
}

}  // namespace belljar::zygote
