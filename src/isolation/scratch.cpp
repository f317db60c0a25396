#include "isolation/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "jar/scratch.h"

namespace belljar::isolation {
namespace {

constexpr std::string_view kPrefix = "belljar-scratch-";

Result<Fd> make_directory(const Fd& parent, const std::string& name) {
    if (::mkdirat(parent.get(), name.c_str(), 0700) != 0) {
        return fail(system_error("mkdir"));
    }
    Fd made(::openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!made.valid()) {
        return fail(system_error("open directory"));
    }
    return made;
}

Result<void> give_to(const Fd& directory, uid_t owner) {
    if (owner != ::geteuid() && ::fchown(directory.get(), owner, owner) != 0) {
        return fail(system_error("chown"));
    }
    return {};
}

// What an earlier warden could not remove. A living one holds the lock.
void remove_stale(const std::string& parent) {
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(parent.c_str()), ::closedir);
    while (entries) {
        const dirent* entry = ::readdir(entries.get());
        if (entry == nullptr) {
            return;
        }
        const std::string path = parent + "/" + entry->d_name;
        constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        const bool ours = std::string_view(entry->d_name).starts_with(kPrefix);
        const Fd directory(ours ? ::open(path.c_str(), kFlags) : -1);
        struct stat status{};
        if (directory.valid() && ::fstat(directory.get(), &status) == 0 &&
            status.st_uid == ::geteuid() && ::flock(directory.get(), LOCK_EX | LOCK_NB) == 0 &&
            jar::remove_content(directory)) {
            ::rmdir(path.c_str());
        }
    }
}

}  // namespace

Result<Scratch> Scratch::create(const std::string& parent) {
    constexpr int kAttempts = 10;
    remove_stale(parent);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        std::string path = parent + "/" + std::string(kPrefix) + "XXXXXX";
        if (::mkdtemp(path.data()) == nullptr) {
            return fail(system_error("make a scratch directory"));
        }
        Scratch scratch;
        Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        // Another warden may have found it before it was locked, and removes it as stale.
        if (directory.valid() && ::flock(directory.get(), LOCK_EX | LOCK_NB) == 0 &&
            ::chmod(path.c_str(), 0711) == 0) {
            scratch.path_ = std::move(path);
            scratch.directory_ = std::move(directory);
            return scratch;
        }
    }
    return fail(system_error("lock the scratch directory", EBUSY));
}

Result<Fd> Scratch::make(std::uint64_t id, uid_t owner) const {
    BJ_TRY(Fd made, make_directory(directory_, "jar-" + std::to_string(id)));
    for (const char* name : {jar::kWorkspaceName, jar::kTmpName}) {
        BJ_TRY(const Fd inner, make_directory(made, name));
        BJ_TRY_VOID(give_to(inner, owner));
    }
    // The guest passes through it and can change nothing in it.
    if (::fchmod(made.get(), 0711) != 0) {
        return fail(system_error("chmod"));
    }
    return made;
}

Result<bool> Scratch::remove(std::uint64_t id, std::size_t& most) const {
    const std::string name = "jar-" + std::to_string(id);
    const Fd left(
        ::openat(directory_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (left.valid()) {
        BJ_TRY(const bool empty, jar::remove_some(left, most));
        if (!empty) {
            return false;
        }
    }
    if (::unlinkat(directory_.get(), name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
        return fail(system_error("remove a scratch directory"));
    }
    return true;
}

Scratch::~Scratch() {
    if (directory_.valid()) {
        [[maybe_unused]] const Result<void> emptied = jar::remove_content(directory_);
        ::rmdir(path_.c_str());
    }
}

}  // namespace belljar::isolation
