#include "jar/courier.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <ranges>
#include <string_view>
#include <vector>

#include "base/beneath.h"
#include "base/utf8.h"

namespace belljar::jar {
namespace {

// However many things a guest makes, so many are looked at.
constexpr std::size_t kMostVisited = 4 * kMostKept;

constexpr std::int64_t kNanoseconds = 1'000'000'000;

std::int64_t nanoseconds(const timespec& time) {
    return static_cast<std::int64_t>(time.tv_sec) * kNanoseconds + time.tv_nsec;
}

// What programs make anew when it is not there.
bool is_cache(std::string_view path) {
    return path == ".cache" || path == "__pycache__" || path.ends_with("/__pycache__");
}

// For people, who are told of it.
std::string readable(std::string_view path) {
    std::string text = make_valid_utf8(path.substr(0, kLongestPath / 4));
    std::ranges::replace_if(
        text, [](unsigned char letter) { return letter < 0x20 || letter == 0x7f; }, '?');
    return text;
}

// A path that leads nowhere, or over a link. Who cannot look does not know.
bool tells_absence(const Error& error) {
    return error.sys_errno == ENOENT || error.sys_errno == ENOTDIR || error.sys_errno == ELOOP;
}

}  // namespace

Courier::Known Courier::known_of(const struct stat& status) {
    const bool directory = S_ISDIR(status.st_mode);
    return {.type = status.st_mode & S_IFMT,
            .inode = directory ? 0 : status.st_ino,
            .size = directory ? 0 : status.st_size,
            .modified = directory ? 0 : nanoseconds(status.st_mtim),
            .changed = directory ? 0 : nanoseconds(status.st_ctim),
            .read = directory ? 0 : nanoseconds(status.st_atim)};
}

// --- into the workspace

// Goes on after a failure, so that the server can tell of it.
class Courier::Unpacker final : public PackSink {
   public:
    explicit Unpacker(Courier& courier) : courier_(courier) {}

    Result<void> on_entry(const PackedEntry& entry) override {
        switch (entry.kind) {
            case PackKind::Directory:
                note(make_directory(entry.path));
                break;
            case PackKind::File:
                open_file(entry);
                break;
            case PackKind::FileEnd:
                note(finish_file());
                break;
            case PackKind::Gone:
                remove(entry.path);
                break;
            case PackKind::End:
                courier_.budget_ =
                    static_cast<std::uint64_t>(std::max<std::int64_t>(entry.number, 0));
                courier_.awaited_ = true;
                break;
            case PackKind::Take:
                asked_ = true;
                break;
            default:
                break;
        }
        return {};
    }

    Result<void> on_data(std::string_view data) override {
        if (file_.valid()) {
            note(write_all(file_, data));
        }
        return {};
    }

    [[nodiscard]] bool asked() const { return asked_; }
    [[nodiscard]] std::int64_t failures() const { return failures_; }

   private:
    void note(const Result<void>& done) {
        if (!done) {
            ++failures_;
            file_.reset();
        }
    }

    Result<void> make_directory(const std::string& path) {
        BJ_TRY(const Place place, find_place(courier_.workspace_, path, Parents::Made));
        if (::mkdirat(place.directory.get(), place.name.c_str(), 0755) != 0 && errno != EEXIST) {
            return fail(system_error("mkdirat"));
        }
        courier_.known_[path] = Known{.type = S_IFDIR};
        return {};
    }

    void open_file(const PackedEntry& entry) {
        name_ = entry;
        const Result<Place> place = find_place(courier_.workspace_, entry.path, Parents::Made);
        if (!place) {
            note(fail(place.error()));
            return;
        }
        // What a program may have put there since the last time gives way.
        ::unlinkat(place->directory.get(), place->name.c_str(), 0);
        Result<Fd> file = open_beneath(place->directory, place->name, O_WRONLY | O_CREAT | O_EXCL,
                                       entry.executable ? 0755 : 0644);
        if (!file) {
            note(fail(file.error()));
            return;
        }
        file_ = std::move(*file);
    }

    // A time in the past makes every later change visible, however soon it comes.
    Result<void> finish_file() {
        const Fd file = std::move(file_);
        if (!file.valid()) {
            return {};
        }
        const timespec time{.tv_sec = name_.number / kNanoseconds,
                            .tv_nsec = name_.number % kNanoseconds};
        const std::array<timespec, 2> times{time, time};
        struct stat status{};
        if (::futimens(file.get(), times.data()) != 0 || ::fstat(file.get(), &status) != 0) {
            return fail(system_error("futimens"));
        }
        courier_.known_[name_.path] = known_of(status);
        return {};
    }

    void remove(const std::string& path) {
        courier_.known_.erase(path);
        const Result<Place> place = find_place(courier_.workspace_, path, Parents::Expected);
        if (place && ::unlinkat(place->directory.get(), place->name.c_str(), 0) != 0) {
            ::unlinkat(place->directory.get(), place->name.c_str(), AT_REMOVEDIR);
        }
    }

    Courier& courier_;
    Fd file_;
    PackedEntry name_;
    bool asked_ = false;
    std::int64_t failures_ = 0;
};

Result<void> Courier::on_readable() {
    Unpacker unpacker(*this);
    BJ_TRY_VOID(receive_pack(socket_, unpacker, TimePoint::max()));
    if (unpacker.asked()) {
        return send_changes(Guests::MayRun);
    }
    PackWriter writer(socket_, TimePoint::max());
    BJ_TRY_VOID(writer.entry({.kind = PackKind::End, .number = unpacker.failures()}));
    return writer.flush();
}

// --- out of the workspace

// One visit of everything that is there, within bounds.
class Courier::Walk {
   public:
    Walk(Courier& courier, PackWriter& writer, Guests guests)
        : courier_(courier), writer_(writer), guests_(guests), budget_(courier.budget_) {}

    Result<void> visit_directory(const Fd& directory, const std::string& prefix) {
        const int copy = ::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy < 0 ? nullptr : ::fdopendir(copy),
                                                          ::closedir);
        if (!entries) {
            return leave(prefix, LeftReason::Unreadable);
        }
        while (const dirent* entry = ::readdir(entries.get())) {
            const std::string_view name(static_cast<const char*>(entry->d_name));
            if (name == "." || name == "..") {
                continue;
            }
            if (++visited_ > kMostVisited) {
                return leave(prefix + std::string(name), LeftReason::TooMany);
            }
            BJ_TRY_VOID(visit(directory, std::string(name), prefix + std::string(name)));
        }
        return {};
    }

    [[nodiscard]] std::int64_t left() const { return left_; }
    // Whether every file was looked at.
    [[nodiscard]] bool whole() const { return visited_ <= kMostVisited && kept_ <= kMostKept; }

   private:
    Result<void> visit(const Fd& parent, const std::string& name, const std::string& path) {
        struct stat status{};
        if (::fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
            return {};  // gone meanwhile
        }
        if (S_ISDIR(status.st_mode) && is_cache(path)) {
            return {};
        }
        if (!is_plain_path(path)) {
            return leave(path, LeftReason::Name);
        }
        if (S_ISLNK(status.st_mode)) {
            return leave(path, LeftReason::Link);
        }
        if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) {
            return leave(path, LeftReason::Special);
        }
        if (++kept_ > kMostKept) {
            return leave(path, LeftReason::TooMany);
        }
        return S_ISDIR(status.st_mode) ? enter(parent, name, path) : visit_file(parent, name, path);
    }

    // Who has no right to its own files gives it to itself, once no program is there that could
    // put something else in their place.
    Result<Fd> open(const Fd& parent, const std::string& name, int flags) {
        Result<Fd> opened = open_beneath(parent, name, flags);
        if (!opened && opened.error().sys_errno == EACCES && guests_ == Guests::Ended &&
            ::fchmodat(parent.get(), name.c_str(), 0700, AT_SYMLINK_NOFOLLOW) == 0) {
            opened = open_beneath(parent, name, flags);
        }
        return opened;
    }

    Result<void> enter(const Fd& parent, const std::string& name, const std::string& path) {
        const Known known{.type = S_IFDIR};
        if (courier_.known_.emplace(path, known).second) {
            BJ_TRY_VOID(writer_.entry({.kind = PackKind::Directory, .path = path}));
        }
        const Result<Fd> directory = open(parent, name, O_RDONLY | O_DIRECTORY);
        return directory ? visit_directory(*directory, path + "/")
                         : leave(path, LeftReason::Unreadable);
    }

    Result<void> visit_file(const Fd& parent, const std::string& name, const std::string& path) {
        const Result<Fd> file = open(parent, name, O_RDONLY | O_NOATIME);
        struct stat status{};
        if (!file || ::fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode)) {
            return leave(path, LeftReason::Unreadable);
        }
        const Known now = known_of(status);
        const auto found = courier_.known_.find(path);
        const bool known = found != courier_.known_.end();
        if (known && may_have_read(found->second, now)) {
            BJ_TRY_VOID(writer_.entry({.kind = PackKind::Read, .path = path}));
        }
        const auto size = static_cast<std::uint64_t>(status.st_size);
        if (size > budget_) {
            return leave(path, LeftReason::TooLarge);
        }
        budget_ -= size;
        const bool same = known && is_same_file(found->second, now);
        if (!same) {
            BJ_TRY_VOID(send_file(*file, path, status));
        }
        if (!same || found->second.read != now.read) {
            courier_.known_[path] = forget_reading(*file, now);
        }
        return {};
    }

    static bool is_same_file(const Known& before, const Known& now) {
        Known expected = before;
        expected.read = now.read;
        return expected == now;
    }

    // Who sets times back or changes the mode could have hidden it: the kernel's own clock tells.
    static bool may_have_read(const Known& before, const Known& now) {
        const bool same = before.inode == now.inode;
        const bool written = before.size != now.size || before.modified != now.modified;
        return same && (before.read != now.read || (before.changed != now.changed && !written));
    }

    // So that the next reading is seen, too. What was changed meanwhile is sent the next time.
    static Known forget_reading(const Fd& file, const Known& sent) {
        const std::int64_t time = std::max<std::int64_t>(sent.modified, 0);
        const timespec early{.tv_sec = time / kNanoseconds, .tv_nsec = time % kNanoseconds};
        const std::array<timespec, 2> times{early, timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
        struct stat status{};
        if (::futimens(file.get(), times.data()) != 0 || ::fstat(file.get(), &status) != 0) {
            return sent;
        }
        const Known now = known_of(status);
        const bool changed = now.size != sent.size || now.modified != sent.modified;
        return changed ? sent : now;
    }

    Result<void> send_file(const Fd& file, const std::string& path, const struct stat& status) {
        BJ_TRY_VOID(writer_.entry({.kind = PackKind::File,
                                   .path = path,
                                   .number = nanoseconds(status.st_mtim),
                                   .executable = (status.st_mode & S_IXUSR) != 0}));
        std::uint64_t rest = static_cast<std::uint64_t>(status.st_size);
        while (rest > 0) {
            const std::size_t piece = std::min<std::uint64_t>(rest, buffer_.size());
            const ssize_t count = ::read(file.get(), buffer_.data(), piece);
            if (count <= 0) {
                break;  // shorter by now
            }
            BJ_TRY_VOID(writer_.data({buffer_.data(), static_cast<std::size_t>(count)}));
            rest -= static_cast<std::uint64_t>(count);
        }
        return writer_.entry({.kind = PackKind::FileEnd});
    }

    Result<void> leave(const std::string& path, LeftReason reason) {
        if (++left_ > static_cast<std::int64_t>(kMostLeftTold)) {
            return {};
        }
        return writer_.entry({.kind = PackKind::Left, .path = readable(path), .reason = reason});
    }

    Courier& courier_;
    PackWriter& writer_;
    Guests guests_;
    std::uint64_t budget_;
    std::size_t visited_ = 0;
    std::size_t kept_ = 0;
    std::int64_t left_ = 0;
    std::vector<char> buffer_ = std::vector<char>(kLargestBody);
};

// Looked for one by one: that something was not met on a walk within bounds does not say that it is
// gone. Backwards, so that a directory comes after what was in it.
Result<void> Courier::send_gone(PackWriter& writer) {
    std::vector<std::string> gone;
    for (const auto& [path, known] : known_ | std::views::reverse) {
        const Result<Fd> found = open_beneath(workspace_, path, O_PATH);
        struct stat status{};
        const bool there = found && ::fstat(found->get(), &status) == 0;
        if ((!found && !tells_absence(found.error())) ||
            (there && (status.st_mode & S_IFMT) == known.type)) {
            continue;
        }
        BJ_TRY_VOID(writer.entry({.kind = PackKind::Gone, .path = path}));
        gone.push_back(path);
    }
    for (const std::string& path : gone) {
        known_.erase(path);
    }
    return {};
}

bool Courier::notes_reads() const {
    struct statvfs status{};
    constexpr unsigned long kSilent = ST_NOATIME | ST_RDONLY;
    return ::fstatvfs(workspace_.get(), &status) == 0 && (status.f_flag & kSilent) == 0;
}

Result<void> Courier::send_changes(Guests guests) {
    PackWriter writer(socket_, TimePoint::max());
    ::fchmod(workspace_.get(), 0700);  // its owner may have locked itself out
    BJ_TRY_VOID(send_gone(writer));
    Walk walk(*this, writer, guests);
    BJ_TRY_VOID(walk.visit_directory(workspace_, ""));
    if (walk.whole() && notes_reads()) {
        BJ_TRY_VOID(writer.entry({.kind = PackKind::ReadsSeen}));
    }
    BJ_TRY_VOID(writer.entry({.kind = PackKind::End, .number = walk.left()}));
    return writer.flush();
}

}  // namespace belljar::jar
