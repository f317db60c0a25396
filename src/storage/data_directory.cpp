#include "storage/data_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace belljar::storage {
namespace {

// True if it was not there before.
Result<bool> make_directories(const std::string& path) {
    std::error_code error;
    const std::filesystem::path directory(path);
    if (std::filesystem::is_directory(directory, error)) {
        return false;
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
    return true;
}

}  // namespace

Result<DataDirectory> DataDirectory::open_shared(const std::string& path) {
    DataDirectory data;
    data.path_ = path;
    BJ_TRY(data.made_, make_directories(path));
    data.directory_ = Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!data.directory_.valid()) {
        return fail(system_error(fmt::format("open data directory {}", path)));
    }
    return data;
}

Result<DataDirectory> DataDirectory::open(const std::string& path) {
    BJ_TRY(DataDirectory data, open_shared(path));
    constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
    data.lock_ = Fd(::openat(data.directory_.get(), "lock", kFlags, 0600));
    if (!data.lock_.valid()) {
        return fail(system_error(fmt::format("open the lock of data directory {}", path)));
    }
    if (::flock(data.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) {
            return fail(ErrorCode::Conflict,
                        fmt::format("the data directory {} is in use by another Belljar server; "
                                    "stop that one or choose another with --data-dir",
                                    path));
        }
        return fail(system_error("flock data directory"));
    }
    return data;
}

Result<void> DataDirectory::give_to(uid_t user, gid_t group) const {
    if (made_ && ::fchown(directory_.get(), user, group) != 0) {
        return fail(system_error("fchown data directory"));
    }
    return {};
}

}  // namespace belljar::storage
