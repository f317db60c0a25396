#include "jar/fill.h"

#include <sys/statfs.h>

#include <algorithm>

namespace belljar::jar {

Fill fill_of(const Fd& directory) {
    struct statfs status{};
    if (!directory.valid() || ::fstatfs(directory.get(), &status) != 0) {
        return {};
    }
    // The kernel counts per processor: a little is left where a write has found nothing.
    const auto none_left = [](std::uint64_t left, std::uint64_t all) {
        return all > 0 && left <= std::min<std::uint64_t>(64, all / 64);
    };
    return {.used = (status.f_blocks - status.f_bfree) * static_cast<std::uint64_t>(status.f_bsize),
            .full = none_left(status.f_bavail, status.f_blocks) ||
                    none_left(status.f_ffree, status.f_files)};
}

}  // namespace belljar::jar
