#pragma once

#include <cstdint>

#include "base/fd.h"

namespace belljar::jar {

struct Fill {
    std::uint64_t used = 0;  // bytes
    bool full = false;
};

// Of the file system that the directory is on; nothing if there is none.
[[nodiscard]] Fill fill_of(const Fd& directory);

}  // namespace belljar::jar
