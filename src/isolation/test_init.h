#pragma once

#include <unistd.h>

#include <array>
#include <string>

namespace belljar::isolation {

// The programs stand above the folder of the test programs.
inline std::string test_init_path() {
    std::array<char, 4096> path{};
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    const std::string self(path.data(), static_cast<std::size_t>(length));
    const std::string folder = self.substr(0, self.rfind('/'));
    return folder.substr(0, folder.rfind('/')) + "/belljar-init";
}

}  // namespace belljar::isolation
