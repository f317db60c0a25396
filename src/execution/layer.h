#pragma once

#include <cstdint>

namespace belljar::execution {

// What a jar can be closed by. Which of them hold is found out at the start.
enum class Layer : std::uint32_t {
    Namespaces = 1U << 0U,
    UniqueUser = 1U << 1U,
    NoCapabilities = 1U << 2U,
    ReadOnlyRoot = 1U << 3U,
    MemoryLimit = 1U << 4U,
    ProcessLimit = 1U << 5U,
    CpuShare = 1U << 6U,
    Seccomp = 1U << 7U,
    Landlock = 1U << 8U,
    DiskQuota = 1U << 9U,
};

constexpr std::uint32_t bit(Layer layer) { return static_cast<std::uint32_t>(layer); }

}  // namespace belljar::execution
