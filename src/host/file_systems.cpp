#include "host/file_systems.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "host/kernel_file.h"

namespace belljar::host {

std::vector<std::string> parse_file_systems(std::string_view text) {
    std::vector<std::string> names;
    for (const std::string_view line : lines_of(text)) {
        // "nodev<tab>proc", or "<tab>ext4" for those that need a device.
        if (std::vector<std::string> words = words_of(line); !words.empty()) {
            names.push_back(std::move(words.back()));
        }
    }
    return names;
}

std::vector<std::string> modules_in(std::string_view listing,
                                    const std::vector<std::string>& wanted) {
    std::vector<std::string> found;
    for (const std::string_view line : lines_of(listing)) {
        // "kernel/fs/quota/quota_v2.ko.xz: what it needs"
        const std::string_view path = line.substr(0, line.find(':'));
        const std::string_view file = path.substr(path.rfind('/') + 1);
        const std::string name(file.substr(0, file.find('.')));
        if (std::ranges::find(wanted, name) != wanted.end()) {
            found.push_back(name);
        }
    }
    std::ranges::sort(found);
    return found;
}

bool FileSystems::has(std::string_view name) const {
    return std::ranges::find(known, name) != known.end();
}

FileSystems read_file_systems() {
    return {.known = parse_file_systems(read_text("/proc/filesystems").value_or(""))};
}

Attempt try_loop_control() {
    const Fd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    return {.sys_errno = control.valid() ? 0 : errno};
}

Quota read_quota(const std::string& kernel_release) {
    Quota quota{.supported = ::access("/proc/sys/fs/quota", F_OK) == 0};
    for (const char* list : {"modules.builtin", "modules.dep"}) {
        const std::string text =
            read_text(fmt::format("/lib/modules/{}/{}", kernel_release, list)).value_or("");
        for (std::string& name : modules_in(text, {"quota_v1", "quota_v2"})) {
            quota.formats.push_back(std::move(name));
        }
    }
    return quota;
}

}  // namespace belljar::host
