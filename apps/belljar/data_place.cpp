#include "data_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace belljar::apps {

std::string choose_data_directory(const config::Settings& settings) {
    if (!settings.server.data_dir.empty()) {
        return settings.server.data_dir;
    }
    if (::geteuid() == 0) {
        return "/var/lib/belljar";
    }
    const char* data_home = std::getenv("XDG_DATA_HOME");
    const char* home = std::getenv("HOME");
    return data_home != nullptr ? fmt::format("{}/belljar", data_home)
                                : fmt::format("{}/.local/share/belljar", home ? home : "");
}

Result<Fd> open_data_directory(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
        std::filesystem::create_directories(path, error);
        if (!error) {
            std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
        }
    }
    Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.valid()) {
        return fail(system_error(fmt::format("open data directory {}", path)));
    }
    return directory;
}

}  // namespace belljar::apps
