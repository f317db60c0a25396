#include "storage/session_register.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

namespace belljar::storage {
namespace {

constexpr const char* kSessions = "sessions";
constexpr int kOpenSessions = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::size_t kMostFound = 1024;
constexpr std::time_t kOldest = std::time_t{24} * 60 * 60;

bool is_session_id(std::string_view name) {
    return name.size() == 36 && name.find_first_not_of("0123456789abcdef-") == std::string::npos;
}

std::string read_all(const Fd& file) {
    std::array<char, 4096> buffer{};
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

}  // namespace

Result<std::unique_ptr<SessionRegister>> SessionRegister::open(const Fd& data_directory) {
    if (::mkdirat(data_directory.get(), kSessions, 0700) != 0 && errno != EEXIST) {
        return fail(system_error("mkdir sessions"));
    }
    Fd directory(::openat(data_directory.get(), kSessions, kOpenSessions));
    if (!directory.valid()) {
        return fail(system_error("open sessions"));
    }
    std::unique_ptr<SessionRegister> made(new SessionRegister(std::move(directory)));
    made->take_stock();
    return made;
}

void SessionRegister::take_stock() {
    Fd copy(::openat(directory_.get(), ".", kOpenSessions));
    DIR* listing = copy.valid() ? ::fdopendir(copy.get()) : nullptr;
    if (listing == nullptr) {
        return;
    }
    [[maybe_unused]] const int owned = copy.release();
    const std::time_t now = std::time(nullptr);
    while (const dirent* entry = ::readdir(listing)) {
        const std::string name = static_cast<const char*>(entry->d_name);
        struct stat status{};
        if (!is_session_id(name) ||
            ::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(status.st_mode)) {
            continue;
        }
        const Fd file(::openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
        if (!file.valid() || now - status.st_mtime > kOldest || found_.size() >= kMostFound) {
            remove(name);
            continue;
        }
        found_.push_back({.session_id = name, .principal = read_all(file)});
    }
    ::closedir(listing);
}

Result<void> SessionRegister::give_to(uid_t user, gid_t group) const {
    if (::fchown(directory_.get(), user, group) != 0) {
        return fail(system_error("chown sessions"));
    }
    for (const Entry& entry : found_) {
        const int given = ::fchownat(directory_.get(), entry.session_id.c_str(), user, group,
                                     AT_SYMLINK_NOFOLLOW);
        if (given != 0 && errno != ENOENT) {
            return fail(system_error("chown sessions"));
        }
    }
    return {};
}

Result<void> SessionRegister::add(const Entry& entry) const {
    const Fd file(::openat(directory_.get(), entry.session_id.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.valid()) {
        return fail(system_error("open a session's file"));
    }
    const std::string& text = entry.principal;
    if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        const Error error = system_error("write a session's file");
        remove(entry.session_id);
        return fail(error);
    }
    return {};
}

void SessionRegister::remove(const std::string& session_id) const {
    ::unlinkat(directory_.get(), session_id.c_str(), 0);
}

}  // namespace belljar::storage
