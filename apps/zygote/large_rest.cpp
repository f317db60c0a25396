#include "large_rest.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "large_pages.h"

namespace belljar::zygote {
namespace {

constexpr std::size_t kLeast = std::size_t{128} << 10U;     // below that the entries are too few
constexpr std::size_t kMostOfAll = std::size_t{16} << 20U;  // it costs as much memory
constexpr std::size_t kLongestList = std::size_t{64} << 10U;

struct Piece {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    int protection = 0;

    [[nodiscard]] std::size_t size() const { return end - begin; }
};

// One line of /proc/PID/maps: "begin-end rwxp offset device inode  name". Nothing: it is shared, or
// the kernel's, or the stack, which is in use.
std::optional<Piece> piece_of(const std::string& line) {
    char* rest = nullptr;
    Piece piece{.begin = std::strtoull(line.c_str(), &rest, 16)};
    piece.end = std::strtoull(rest + 1, &rest, 16);
    const std::string_view rights = std::string_view(rest).substr(1, 4);
    const bool is_ours = !line.contains('[') || line.ends_with("[heap]");
    if (!is_ours || piece.end <= piece.begin || rights.size() != 4 || rights[0] != 'r' ||
        rights[3] != 'p') {
        return std::nullopt;
    }
    piece.protection =
        PROT_READ | (rights[1] == 'w' ? PROT_WRITE : 0) | (rights[2] == 'x' ? PROT_EXEC : 0);
    return piece;
}

// What is in front of the first large page that fits in, and behind the last one.
void note_ends(const Piece& whole, std::vector<Piece>& found) {
    const std::uintptr_t first = (whole.begin + kLargePage - 1) / kLargePage * kLargePage;
    const std::uintptr_t last = whole.end / kLargePage * kLargePage;
    const auto note = [&](std::uintptr_t begin, std::uintptr_t end) {
        if (end > begin && end - begin >= kLeast) {
            found.push_back({.begin = begin, .end = end, .protection = whole.protection});
        }
    };
    if (first >= last) {
        note(whole.begin, whole.end);
        return;
    }
    note(whole.begin, first);
    note(last, whole.end);
}

std::vector<Piece> find_pieces(const Fd& process) {
    const Fd list(::openat(process.get(), "maps", O_RDONLY | O_CLOEXEC));
    const Result<std::string> text =
        list.valid() ? read_all(list, Bytes{kLongestList}) : Result<std::string>(std::string());
    std::vector<Piece> found;
    std::string_view rest = text ? std::string_view(*text) : std::string_view();
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        if (const std::optional<Piece> piece = piece_of(std::string(rest.substr(0, end)))) {
            note_ends(*piece, found);
        }
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return found;
}

// As many as there is to be room for; those first that a fork has to take over anyway.
void choose(std::vector<Piece>& pieces) {
    std::ranges::partition(pieces,
                           [](const Piece& piece) { return (piece.protection & PROT_WRITE) != 0; });
    std::size_t size = 0;
    const auto too_much = [&size](const Piece& piece) {
        size += piece.size();
        return size > kMostOfAll;
    };
    pieces.erase(std::ranges::find_if(pieces, too_much), pieces.end());
}

void copy_to(std::uintptr_t room, const Piece& piece) {
    std::memcpy(reinterpret_cast<void*>(room), reinterpret_cast<const void*>(piece.begin),
                piece.size());
}

// Nothing may be written to the piece between the copy and the exchange, and it may hold the memory
// of this library itself: there is no other thread, and nothing stands between the two calls.
void exchange(std::uintptr_t room, const Piece& piece) {
    void* const copy = reinterpret_cast<void*>(room);
    if (::mprotect(copy, piece.size(), piece.protection) != 0) {
        return;
    }
    if ((piece.protection & PROT_WRITE) != 0) {
        copy_to(room, piece);
    }
    ::mremap(copy, piece.size(), piece.size(), MREMAP_MAYMOVE | MREMAP_FIXED,
             reinterpret_cast<void*>(piece.begin));
}

}  // namespace

void use_large_pages_for_rest(const Fd& process) {
    std::vector<Piece> pieces = find_pieces(process);
    choose(pieces);
    std::size_t size = 0;
    for (const Piece& piece : pieces) {
        size += piece.size();
    }
    const std::size_t whole = (size + kLargePage - 1) / kLargePage * kLargePage;
    void* const room = size > 0 ? reserve_large_pages(whole) : nullptr;
    if (room == nullptr) {
        return;
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(room);
    std::uintptr_t next = begin;
    for (const Piece& piece : pieces) {
        copy_to(next, piece);
        next += piece.size();
    }
    bool is_large = true;
    for (std::uintptr_t page = begin; page < begin + whole; page += kLargePage) {
        is_large = is_large && collapse(page, kLargePage);
    }
    next = begin;
    for (const Piece& piece : pieces) {
        if (is_large) {
            exchange(next, piece);
        }
        next += piece.size();
    }
    ::munmap(room, whole);  // what was not exchanged, and what is behind the last piece
}

}  // namespace belljar::zygote
