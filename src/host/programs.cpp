#include "host/programs.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace belljar::host {
namespace {

bool is_program(const std::string& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string find_program(std::string_view name, std::string_view directories) {
    while (!directories.empty()) {
        const std::size_t length = std::min(directories.find(':'), directories.size());
        const std::string_view directory = directories.substr(0, length);
        std::string path = fmt::format("{}/{}", directory, name);
        // An empty entry would mean the working directory, which is nobody's choice.
        if (directory.starts_with('/') && is_program(path)) {
            return path;
        }
        directories.remove_prefix(std::min(length + 1, directories.size()));
    }
    return {};
}

std::string search_path() {
    const char* path = std::getenv("PATH");
    return fmt::format("{}:/usr/local/sbin:/usr/sbin:/sbin", path == nullptr ? "" : path);
}

}  // namespace belljar::host
