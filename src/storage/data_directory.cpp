#include "storage/data_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace belljar::storage {
namespace {

Result<void> make_directories(const std::string& path) {
    std::error_code error;
    const std::filesystem::path directory(path);
    if (std::filesystem::is_directory(directory, error)) {
        return {};
    }
    std::filesystem::create_directories(directory, error);
    if (!error) {
        std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
    }
    if (error) {
        return fail(ErrorCode::Unavailable,
                    fmt::format("the data directory {} cannot be made: {}; choose another with "
                                "--data-dir",
                                path, error.message()));
    }
    return {};
}

}  // namespace

Result<DataDirectory> DataDirectory::open(const std::string& path) {
    BJ_TRY_VOID(make_directories(path));
    Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.valid()) {
        return fail(system_error(fmt::format("open data directory {}", path)));
    }
    constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
    Fd lock(::openat(directory.get(), "lock", kFlags, 0600));
    if (!lock.valid()) {
        return fail(system_error(fmt::format("open the lock of data directory {}", path)));
    }
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) {
            return fail(ErrorCode::Conflict,
                        fmt::format("the data directory {} is in use by another Belljar server; "
                                    "stop that one or choose another with --data-dir",
                                    path));
        }
        return fail(system_error("flock data directory"));
    }
    return DataDirectory(path, std::move(directory), std::move(lock));
}

Result<void> DataDirectory::give_to(uid_t user, gid_t group) const {
    if (::fchown(directory_.get(), user, group) != 0) {
        return fail(system_error("fchown data directory"));
    }
    return {};
}

}  // namespace belljar::storage
