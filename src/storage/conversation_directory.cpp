#include "storage/conversation_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "base/beneath.h"
#include "base/id.h"
#include "crypto/digest.h"
#include "jar/scratch.h"
#include "storage/directory_names.h"
#include "storage/mime_types.h"

namespace belljar::storage {
namespace {

constexpr const char* kFiles = "files";
constexpr const char* kIncoming = "incoming";
constexpr const char* kLock = "lock";
constexpr const char* kTurn = "turn";
constexpr const char* kAbout = "about.json";
constexpr const char* kUsed = "used";  // when: its time of modification
constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY;
constexpr auto kLockPause = std::chrono::milliseconds(5);
constexpr std::int64_t kNanoseconds = 1'000'000'000;

std::int64_t nanoseconds(const timespec& time) {
    return static_cast<std::int64_t>(time.tv_sec) * kNanoseconds + time.tv_nsec;
}

StoredEntry entry_of(std::string path, const struct stat& status) {
    const bool directory = S_ISDIR(status.st_mode);
    return {.path = std::move(path),
            .directory = directory,
            .executable = !directory && (status.st_mode & S_IXUSR) != 0,
            .size = directory ? 0 : static_cast<std::uint64_t>(status.st_size),
            .modified = nanoseconds(status.st_mtim),
            .inode = status.st_ino,
            .changed = nanoseconds(status.st_ctim)};
}

// Deeper than any path can be made, there is nothing of ours.
Result<void> walk_below(const Fd& directory, const std::string& prefix, std::size_t depth,
                        std::vector<StoredEntry>& found) {
    BJ_TRY(Fd copy, open_beneath(directory, ".", kOpenFolder));
    DIR* const opened = ::fdopendir(copy.get());
    if (opened == nullptr) {
        return fail(system_error("fdopendir"));
    }
    [[maybe_unused]] const int owned = copy.release();
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(opened, ::closedir);
    while (const dirent* entry = ::readdir(entries.get())) {
        const std::string name(static_cast<const char*>(entry->d_name));
        struct stat status{};
        if (name == "." || name == ".." ||
            ::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) ||
            !is_plain_path(prefix + name)) {
            continue;
        }
        found.push_back(entry_of(prefix + name, status));
        if (S_ISDIR(status.st_mode) && depth < kDeepestPath) {
            Result<Fd> below = open_beneath(directory, name, kOpenFolder);
            if (below) {
                BJ_TRY_VOID(walk_below(*below, prefix + name + "/", depth + 1, found));
            }
        }
    }
    return {};
}

// Where a file was made, or nothing is known, it is the beginning of time.
execution::WallTime modified_at(const Fd& directory, const char* name) {
    struct stat status{};
    if (::fstatat(directory.get(), name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return {};
    }
    return execution::WallTime(std::chrono::duration_cast<execution::WallTime::duration>(
        std::chrono::nanoseconds(nanoseconds(status.st_mtim))));
}

}  // namespace

execution::FileView view_of(const StoredEntry& entry) {
    return {
        .path = entry.path,
        .size = entry.size,
        .mime = std::string(mime_of(entry.path)),
        .modified = execution::WallTime(std::chrono::duration_cast<execution::WallTime::duration>(
            std::chrono::nanoseconds(entry.modified))),
        .directory = entry.directory,
        .revision = entry.inode == 0
                        ? ""
                        : fmt::format("{:x}-{:x}-{:x}", entry.inode, entry.size, entry.changed)};
}

Error explain_storage(Error error) {
    if (error.sys_errno == ENOSPC || error.sys_errno == EDQUOT) {
        error.code = ErrorCode::StorageFull;
        error.message = "there is no room left on the server's disk; nothing was changed";
    }
    if (error.sys_errno == EISDIR || error.sys_errno == ENOTDIR || error.sys_errno == ENOTEMPTY) {
        error.code = ErrorCode::InvalidArgument;
        error.message =
            "the file cannot be made: its name is that of a directory, or a part of its path is "
            "that of a file";
    }
    return error;
}

Result<void> synchronise(const Fd& file) {
    return ::fsync(file.get()) == 0 ? Result<void>{} : fail(system_error("fsync"));
}

Result<std::string> digest_of(const Fd& file) {
    crypto::Sha256 hash;
    std::vector<char> buffer(256UL * 1024);
    while (true) {
        const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
        if (count < 0) {
            return fail(system_error("read"));
        }
        if (count == 0) {
            return hash.finish();
        }
        hash.add({buffer.data(), static_cast<std::size_t>(count)});
    }
}

// --- the directory

Result<void> ConversationDirectory::prepare(const Fd& directory) {
    for (const char* name : {kFiles, kIncoming}) {
        if (::mkdirat(directory.get(), name, 0700) != 0) {
            return fail(system_error("mkdirat"));
        }
    }
    return synchronise(directory);
}

Result<ConversationDirectory> ConversationDirectory::open(Fd directory, Fd owner,
                                                          std::string name) {
    ConversationDirectory opened;
    Result<Fd> files = open_beneath(directory, kFiles, kOpenFolder);
    Result<Fd> incoming = open_beneath(directory, kIncoming, kOpenFolder);
    if (!files || !incoming) {
        return fail(ErrorCode::NotFound, "there is no such conversation");
    }
    opened.directory_ = std::move(directory);
    opened.files_ = std::move(*files);
    opened.incoming_ = std::move(*incoming);
    opened.owner_ = std::move(owner);
    opened.name_ = std::move(name);
    return opened;
}

Result<Fd> ConversationDirectory::lock(Lock kind, TimePoint deadline) const {
    BJ_TRY(Fd file, open_beneath(directory_, kLock, O_RDWR | O_CREAT, 0600));
    while (::flock(file.get(), (kind == Lock::Shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return fail(system_error("flock"));
        }
        if (Clock::now() >= deadline) {
            return fail(ErrorCode::Conflict,
                        "the conversation's files are being changed; try again");
        }
        std::this_thread::sleep_for(kLockPause);
    }
    return file;
}

Result<Fd> ConversationDirectory::take_turn() const {
    BJ_TRY(Fd file, open_beneath(directory_, kTurn, O_RDWR | O_CREAT, 0600));
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        return errno == EWOULDBLOCK
                   ? fail(ErrorCode::Conflict, "another run has the conversation's files")
                   : fail(system_error("flock"));
    }
    return file;
}

// A file that is not locked yet may be cleared away by somebody who changes the conversation; then
// the next one is tried.
Result<StagedFile> ConversationDirectory::stage() const {
    constexpr int kTries = 64;
    for (int attempt = 0; attempt < kTries; ++attempt) {
        BJ_TRY(Fd directory, open_beneath(incoming_, ".", kOpenFolder));
        std::string name = random_hex(16);
        BJ_TRY(Fd file, open_beneath(incoming_, name, O_RDWR | O_CREAT | O_EXCL, 0600));
        const int locked = ::flock(file.get(), LOCK_EX | LOCK_NB);
        struct stat status{};
        const bool there = ::fstat(file.get(), &status) == 0 && status.st_nlink > 0;
        StagedFile staged(std::move(directory), std::move(name), std::move(file));
        if (locked == 0 && there) {
            return staged;
        }
    }
    return fail(ErrorCode::Conflict, "the conversation is being changed by too many at once");
}

void ConversationDirectory::clear_incoming() const {
    for (const std::string& name : names_in(incoming_)) {
        const Result<Fd> file = open_beneath(incoming_, name, O_RDONLY);
        struct stat status{};
        if (file && ::fstat(file->get(), &status) == 0 && S_ISDIR(status.st_mode)) {
            // A directory is only on its way out.
            [[maybe_unused]] const Result<void> emptied = jar::remove_content(*file);
            ::unlinkat(incoming_.get(), name.c_str(), AT_REMOVEDIR);
        } else if (file && ::flock(file->get(), LOCK_EX | LOCK_NB) == 0) {
            ::unlinkat(incoming_.get(), name.c_str(), 0);
        }
    }
}

// Not more often than anybody wants to know it.
void ConversationDirectory::touch() const {
    constexpr auto kExact = std::chrono::seconds(30);
    const auto now = std::chrono::system_clock::now();
    const execution::WallTime last = modified_at(directory_, kUsed);
    if (last <= now && now - last < kExact) {
        return;
    }
    const Result<Fd> file = open_beneath(directory_, kUsed, O_RDWR | O_CREAT, 0600);
    if (file) {
        ::futimens(file->get(), nullptr);
    }
}

execution::WallTime ConversationDirectory::created() const {
    return modified_at(directory_, kAbout);
}

execution::WallTime ConversationDirectory::last_used() const {
    return std::max({created(), modified_at(directory_, kUsed), modified_at(directory_, kFiles)});
}

Result<std::vector<StoredEntry>> ConversationDirectory::walk() const {
    std::vector<StoredEntry> found;
    BJ_TRY_VOID(walk_below(files_, "", 1, found));
    std::ranges::sort(found, {}, &StoredEntry::path);
    return found;
}

Result<Fd> ConversationDirectory::open_file(const std::string& path, StoredEntry& entry) const {
    Result<Fd> file = open_beneath(files_, path, O_RDONLY);
    struct stat status{};
    if (!file || ::fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return fail(ErrorCode::NotFound, "there is no such file in this conversation");
    }
    entry = entry_of(path, status);
    return file;
}

}  // namespace belljar::storage
