#include "storage/conversation_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "base/beneath.h"
#include "base/id.h"
#include "crypto/digest.h"
#include "jar/scratch.h"
#include "storage/mime_types.h"

namespace belljar::storage {
namespace {

using execution::FileChange;

constexpr const char* kFiles = "files";
constexpr const char* kIncoming = "incoming";
constexpr const char* kLock = "lock";
constexpr const char* kTurn = "turn";
constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY;
constexpr auto kLockPause = std::chrono::milliseconds(5);
// Up to so many files are written out one by one, more by one call for the whole file system.
constexpr std::size_t kFewFiles = 32;
constexpr std::int64_t kNanoseconds = 1'000'000'000;

std::unexpected<Error> no_such_file() {
    return fail(ErrorCode::NotFound, "there is no such file in this conversation");
}

std::int64_t nanoseconds(const timespec& time) {
    return static_cast<std::int64_t>(time.tv_sec) * kNanoseconds + time.tv_nsec;
}

StoredEntry entry_of(std::string path, const struct stat& status) {
    const bool directory = S_ISDIR(status.st_mode);
    return {.path = std::move(path),
            .directory = directory,
            .executable = !directory && (status.st_mode & S_IXUSR) != 0,
            .size = directory ? 0 : static_cast<std::uint64_t>(status.st_size),
            .modified = nanoseconds(status.st_mtim)};
}

// Deeper than any path can be made, there is nothing of ours.
Result<void> walk_below(const Fd& directory, const std::string& prefix, std::size_t depth,
                        std::vector<StoredEntry>& found) {
    BJ_TRY(Fd copy, open_beneath(directory, ".", kOpenDirectory));
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
            Result<Fd> below = open_beneath(directory, name, kOpenDirectory);
            if (below) {
                BJ_TRY_VOID(walk_below(*below, prefix + name + "/", depth + 1, found));
            }
        }
    }
    return {};
}

// What a program says of its file, as far as it can be.
std::int64_t possible_time(std::int64_t modified) {
    const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    return std::clamp<std::int64_t>(modified, 0, now.count());
}

Result<void> set_time(const Fd& file, std::int64_t modified) {
    const timespec time{.tv_sec = modified / kNanoseconds, .tv_nsec = modified % kNanoseconds};
    const std::array<timespec, 2> times{time, time};
    return ::futimens(file.get(), times.data()) == 0 ? Result<void>{}
                                                     : fail(system_error("futimens"));
}

Result<void> synchronise(const Fd& file) {
    return ::fsync(file.get()) == 0 ? Result<void>{} : fail(system_error("fsync"));
}

}  // namespace

execution::FileView view_of(const StoredEntry& entry) {
    return {
        .path = entry.path,
        .size = entry.size,
        .mime = std::string(mime_of(entry.path)),
        .modified = execution::WallTime(std::chrono::duration_cast<execution::WallTime::duration>(
            std::chrono::nanoseconds(entry.modified)))};
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

Result<ConversationDirectory> ConversationDirectory::open(Fd directory) {
    ConversationDirectory opened;
    Result<Fd> files = open_beneath(directory, kFiles, kOpenDirectory);
    Result<Fd> incoming = open_beneath(directory, kIncoming, kOpenDirectory);
    if (!files || !incoming) {
        return fail(ErrorCode::NotFound, "there is no such conversation");
    }
    opened.directory_ = std::move(directory);
    opened.files_ = std::move(*files);
    opened.incoming_ = std::move(*incoming);
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
        return no_such_file();
    }
    entry = entry_of(path, status);
    return file;
}

// --- changes

Result<ConversationChanges> ConversationChanges::begin(const ConversationDirectory& directory,
                                                       ConversationBounds bounds,
                                                       TimePoint deadline) {
    ConversationChanges changes(directory, bounds);
    BJ_TRY(changes.lock_, directory.lock(ConversationDirectory::Lock::Exclusive, deadline));
    // What is in there, nobody will finish.
    BJ_TRY_VOID(jar::remove_content(directory.incoming()));
    BJ_TRY(std::vector<StoredEntry> entries, directory.walk());
    for (StoredEntry& entry : entries) {
        changes.used_ += entry.size;
        changes.now_.emplace(entry.path, std::move(entry));
    }
    return changes;
}

Result<void> ConversationChanges::check_room(const std::string& path) const {
    if (!is_plain_path(path)) {
        return fail(ErrorCode::InvalidArgument,
                    "a path has to be relative and without \"..\", in at most 1024 bytes");
    }
    std::size_t more = 0;
    for (std::size_t end = path.size(); end != std::string::npos;
         end = end == 0 ? std::string::npos : path.rfind('/', end - 1)) {
        more += now_.contains(path.substr(0, end)) ? 0 : 1;
    }
    if (now_.size() + more > bounds_.entries) {
        return fail(ErrorCode::QuotaReached,
                    fmt::format("a conversation can have at most {} files and directories; "
                                "delete some",
                                bounds_.entries));
    }
    return {};
}

Result<void> ConversationChanges::make_directory(const std::string& path) {
    BJ_TRY_VOID(check_room(path));
    StoredEntry entry{.path = path, .directory = true};
    now_[path] = entry;
    pending_.push_back({.action = Pending::Action::MakeDirectory, .entry = std::move(entry)});
    return {};
}

Result<void> ConversationChanges::begin_file(const NewFile& file) {
    drop_file();
    BJ_TRY_VOID(check_room(file.path));
    hash_ = crypto::Sha256();
    coming_ = {.entry = {.path = file.path,
                         .executable = file.executable,
                         .modified = possible_time(file.modified)},
               .temporary = random_hex(16)};
    BJ_TRY(file_, open_beneath(directory_->incoming(), coming_.temporary,
                               O_WRONLY | O_CREAT | O_EXCL, file.executable ? 0700 : 0600));
    return {};
}

Result<void> ConversationChanges::append(std::string_view data) {
    const auto before = now_.find(coming_.entry.path);
    const std::uint64_t replaced = before == now_.end() ? 0 : before->second.size;
    coming_.entry.size += data.size();
    if (used_ - replaced + coming_.entry.size > bounds_.space.count) {
        drop_file();
        return fail(ErrorCode::QuotaReached,
                    fmt::format("a conversation's files can have at most {} together; delete some",
                                format_bytes(bounds_.space)));
    }
    hash_.add(data);
    return write_all(file_, data);
}

Result<void> ConversationChanges::end_file(std::string_view unwanted) {
    coming_.sha256 = hash_.finish();
    if (coming_.sha256 == unwanted) {
        drop_file();
        return {};
    }
    BJ_TRY_VOID(set_time(file_, coming_.entry.modified));
    file_.reset();
    const auto before = now_.find(coming_.entry.path);
    coming_.replaces = before != now_.end();
    used_ += coming_.entry.size - (coming_.replaces ? before->second.size : 0);
    now_[coming_.entry.path] = coming_.entry;
    for (std::size_t end = coming_.entry.path.rfind('/'); end != std::string::npos && end > 0;
         end = coming_.entry.path.rfind('/', end - 1)) {
        const std::string parent = coming_.entry.path.substr(0, end);
        now_.emplace(parent, StoredEntry{.path = parent, .directory = true});
    }
    pending_.push_back(std::exchange(coming_, {}));
    return {};
}

void ConversationChanges::drop_file() {
    if (file_.valid()) {
        file_.reset();
        ::unlinkat(directory_->incoming().get(), coming_.temporary.c_str(), 0);
    }
}

void ConversationChanges::remove(const std::string& path) {
    const auto found = now_.find(path);
    if (found == now_.end()) {
        return;
    }
    used_ -= found->second.size;
    pending_.push_back({.action = Pending::Action::Remove, .entry = found->second});
    now_.erase(found);
}

// Whether the same content is there already.
bool ConversationChanges::is_same(const Pending& pending) const {
    StoredEntry entry;
    const Result<Fd> old = directory_->open_file(pending.entry.path, entry);
    if (!old || entry.size != pending.entry.size || entry.executable != pending.entry.executable) {
        return false;
    }
    const Result<std::string> digest = digest_of(*old);
    return digest && *digest == pending.sha256;
}

Result<void> ConversationChanges::make_durable() const {
    if (many_) {
        return ::syncfs(directory_->incoming().get()) == 0 ? Result<void>{}
                                                           : fail(system_error("syncfs"));
    }
    for (const Pending& pending : pending_) {
        if (pending.action == Pending::Action::Place) {
            BJ_TRY(const Fd file,
                   open_beneath(directory_->incoming(), pending.temporary, O_RDONLY));
            BJ_TRY_VOID(synchronise(file));
        }
    }
    return {};
}

Result<void> ConversationChanges::apply(const Pending& pending) const {
    const bool removes = pending.action == Pending::Action::Remove;
    BJ_TRY(const Place place, find_place(directory_->files(), pending.entry.path,
                                         removes ? Parents::Expected : Parents::Made));
    const int parent = place.directory.get();
    const char* name = place.name.c_str();
    int failed = 0;
    switch (pending.action) {
        case Pending::Action::MakeDirectory:
            failed = ::mkdirat(parent, name, 0700) != 0 && errno != EEXIST ? 1 : 0;
            break;
        case Pending::Action::Place:
            failed =
                ::renameat(directory_->incoming().get(), pending.temporary.c_str(), parent, name);
            break;
        case Pending::Action::Remove:
            failed = ::unlinkat(parent, name, pending.entry.directory ? AT_REMOVEDIR : 0);
            break;
    }
    if (failed != 0) {
        return fail(system_error("change a conversation's files"));
    }
    return many_ ? Result<void>{} : synchronise(place.directory);
}

Result<std::vector<ConversationChanges::Done>> ConversationChanges::finish() {
    drop_file();
    many_ = pending_.size() > kFewFiles;
    BJ_TRY_VOID(make_durable());
    std::vector<Done> done;
    for (const Pending& pending : std::exchange(pending_, {})) {
        if (pending.action == Pending::Action::Place && pending.replaces && is_same(pending)) {
            ::unlinkat(directory_->incoming().get(), pending.temporary.c_str(), 0);
            continue;
        }
        if (!apply(pending) || pending.entry.directory) {
            continue;
        }
        Done change{.file = view_of(pending.entry)};
        change.file.sha256 = pending.sha256;
        if (pending.action == Pending::Action::Remove) {
            change = {.kind = FileChange::Kind::Deleted, .file = {.path = pending.entry.path}};
        } else if (pending.replaces) {
            change.kind = FileChange::Kind::Changed;
        }
        done.push_back(std::move(change));
    }
    if (many_ && ::syncfs(directory_->files().get()) != 0) {
        return fail(system_error("syncfs"));
    }
    return done;
}

}  // namespace belljar::storage
