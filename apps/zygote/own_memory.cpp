#include "own_memory.h"

#include <array>
#include <cstdlib>
#include <new>

namespace belljar::zygote {
namespace {

constexpr std::size_t kUnit = alignof(std::max_align_t);

// The interpreter has one thread while this library is at work.
struct Region {
    alignas(kUnit) std::array<std::byte, 128 * 1024> bytes;
    std::size_t used;

    [[nodiscard]] bool holds(const void* memory) const {
        const auto* const place = static_cast<const std::byte*>(memory);
        return place >= bytes.data() && place < bytes.data() + bytes.size();
    }
};

constinit Region region{};

void* take_memory(std::size_t size) {
    const std::size_t rounded = (size + kUnit - 1) / kUnit * kUnit;
    if (rounded <= region.bytes.size() - region.used) {
        void* const memory = region.bytes.data() + region.used;
        region.used += rounded;
        return memory;
    }
    void* const memory = std::malloc(size);
    if (memory == nullptr) {
        std::abort();
    }
    return memory;
}

void give_memory_back(void* memory) {
    if (!region.holds(memory)) {
        std::free(memory);
    }
}

}  // namespace

MemoryMark::MemoryMark() : used_(region.used) {}

MemoryMark::~MemoryMark() { region.used = used_; }

}  // namespace belljar::zygote

using belljar::zygote::give_memory_back;
using belljar::zygote::take_memory;

void* operator new(std::size_t size) { return take_memory(size); }
void* operator new[](std::size_t size) { return take_memory(size); }
void operator delete(void* memory) noexcept { give_memory_back(memory); }
void operator delete[](void* memory) noexcept { give_memory_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_memory_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_memory_back(memory); }
