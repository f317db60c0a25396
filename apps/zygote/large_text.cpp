#include "large_text.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "large_pages.h"

namespace belljar::zygote {
namespace {

// One after the other in memory, and never written to.
struct Span {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    int protection = PROT_READ;
};

using Spans = std::vector<Span>;

std::uintptr_t round_down(std::uintptr_t address, std::uintptr_t unit) {
    return address / unit * unit;
}

std::uintptr_t round_up(std::uintptr_t address, std::uintptr_t unit) {
    return round_down(address + unit - 1, unit);
}

int note_spans(dl_phdr_info* object, std::size_t, void* found) {
    auto& spans = *static_cast<Spans*>(found);
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    bool goes_on = false;  // the object's segments come in the order of their addresses
    for (std::size_t index = 0; index < object->dlpi_phnum; ++index) {
        const ElfW(Phdr)& header = object->dlpi_phdr[index];
        if (header.p_type != PT_LOAD) {
            continue;
        }
        const std::uintptr_t start = object->dlpi_addr + header.p_vaddr;
        const Span span{.begin = round_down(start, page),
                        .end = round_up(start + header.p_filesz, page),
                        .protection = PROT_READ | ((header.p_flags & PF_X) != 0 ? PROT_EXEC : 0)};
        if ((header.p_flags & PF_W) != 0) {
            goes_on = false;
        } else if (goes_on && spans.back().end == span.begin) {
            spans.back().end = span.end;
            spans.back().protection |= span.protection;
        } else {
            spans.push_back(span);
            goes_on = true;
        }
    }
    return 0;
}

// A copy that is not where it belongs yet. Whether it may be executed is known before anything of
// the interpreter's own is touched.
void* copy_page(std::uintptr_t page, int protection) {
    void* const room = reserve_large_pages(kLargePage);
    if (room == nullptr) {
        return nullptr;
    }
    std::memcpy(room, reinterpret_cast<const void*>(page), kLargePage);
    if (!collapse(reinterpret_cast<std::uintptr_t>(room), kLargePage) ||
        ::mprotect(room, kLargePage, protection) != 0) {
        ::munmap(room, kLargePage);
        return nullptr;
    }
    return room;
}

void replace_pages(const Span& span) {
    for (std::uintptr_t page = round_up(span.begin, kLargePage); page + kLargePage <= span.end;
         page += kLargePage) {
        void* const copy = copy_page(page, span.protection);
        if (copy == nullptr) {
            return;
        }
        // In one step: there is always one of the two.
        if (::mremap(copy, kLargePage, kLargePage, MREMAP_MAYMOVE | MREMAP_FIXED,
                     reinterpret_cast<void*>(page)) == MAP_FAILED) {
            ::munmap(copy, kLargePage);
            return;
        }
    }
}

}  // namespace

void use_large_pages_for_text() {
    Spans spans;
    ::dl_iterate_phdr(note_spans, &spans);
    for (const Span& span : spans) {
        replace_pages(span);
    }
}

}  // namespace belljar::zygote
