#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/attempt.h"

namespace belljar::host {

// The names in the text of /proc/filesystems: what is built in or loaded.
[[nodiscard]] std::vector<std::string> parse_file_systems(std::string_view text);

// The modules of `wanted` that are listed in the text of modules.builtin or modules.dep, without
// their endings.
[[nodiscard]] std::vector<std::string> modules_in(std::string_view listing,
                                                  const std::vector<std::string>& wanted);

struct FileSystems {
    std::vector<std::string> known{};

    [[nodiscard]] bool has(std::string_view name) const;
};

[[nodiscard]] FileSystems read_file_systems();

// Whether /dev/loop-control can be opened: files can then be mounted as disks.
[[nodiscard]] Attempt try_loop_control();

struct Quota {
    bool supported = false;              // the kernel can count what a user or project stores
    std::vector<std::string> formats{};  // "quota_v1", "quota_v2"
};

[[nodiscard]] Quota read_quota(const std::string& kernel_release);

}  // namespace belljar::host
