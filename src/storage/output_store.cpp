#include "storage/output_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace belljar::storage {
namespace {

using execution::OutputStream;

constexpr const char* kDirectory = "outputs";
constexpr std::string_view kUnfinished = "unfinished-";
constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::array<OutputStream, 2> kStreams{OutputStream::Stdout, OutputStream::Stderr};
// Who the run was for; absent for the one without a name.
constexpr const char* kOwner = "owner";
constexpr std::size_t kLongestPrincipal = 1024;

std::size_t index_of(OutputStream stream) { return static_cast<std::size_t>(stream); }

// "stdout", or "stdout.cut", so that the name tells it to whoever looks at the directory.
std::string file_name(OutputStream stream, bool cut) {
    return fmt::format("{}{}", execution::name_of(stream), cut ? ".cut" : "");
}

// The form of our own execution ids, and so of the directories that are ours.
bool is_execution_id(std::string_view name) {
    constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    return std::ranges::equal(name, kForm, [](char letter, char form) {
        const bool digit = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
        return form == '-' ? letter == '-' : digit;
    });
}

// The files and then the directory. Something else in there stays, and so does the directory.
void remove_run(const Fd& parent, const std::string& name) {
    const Fd directory(::openat(parent.get(), name.c_str(), kOpenDirectory));
    if (directory.valid()) {
        for (const OutputStream stream : kStreams) {
            ::unlinkat(directory.get(), file_name(stream, false).c_str(), 0);
            ::unlinkat(directory.get(), file_name(stream, true).c_str(), 0);
        }
        ::unlinkat(directory.get(), kOwner, 0);
    }
    ::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR);
}

std::optional<StoredStream> find_stream(const Fd& directory, OutputStream stream) {
    for (const bool cut : {false, true}) {
        struct stat status{};
        const std::string name = file_name(stream, cut);
        if (::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode)) {
            return StoredStream{.bytes = static_cast<std::uint64_t>(status.st_size), .cut = cut};
        }
    }
    return std::nullopt;
}

// Nothing if it cannot be told whose it is.
std::optional<std::string> read_owner(const Fd& directory) {
    const Fd file(
        ::openat(directory.get(), kOwner, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.valid()) {
        return errno == ENOENT ? std::optional<std::string>("") : std::nullopt;
    }
    std::string principal(kLongestPrincipal, '\0');
    const ssize_t count = ::read(file.get(), principal.data(), principal.size());
    if (count <= 0) {
        return std::nullopt;
    }
    principal.resize(static_cast<std::size_t>(count));
    return principal;
}

Result<void> write_owner(const Fd& directory, const std::string& principal) {
    if (principal.empty()) {
        return {};
    }
    if (principal.size() > kLongestPrincipal) {
        return fail(ErrorCode::TooLarge, "the name of the caller is too long for an output");
    }
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const Fd file(::openat(directory.get(), kOwner, kFlags, 0600));
    if (!file.valid() || ::write(file.get(), principal.data(), principal.size()) !=
                             static_cast<ssize_t>(principal.size())) {
        return fail(system_error("write the owner of an output"));
    }
    return {};
}

std::uint64_t size_of(const StoredOutput& output) {
    std::uint64_t sum = 0;
    for (const std::optional<StoredStream>& stream : output) {
        sum += stream ? stream->bytes : 0;
    }
    return sum;
}

Result<std::vector<std::string>> names_in(const Fd& directory) {
    Fd copy(::openat(directory.get(), ".", kOpenDirectory));
    DIR* listing = copy.valid() ? ::fdopendir(copy.get()) : nullptr;
    if (listing == nullptr) {
        return fail(system_error("open outputs"));
    }
    [[maybe_unused]] const int owned = copy.release();
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(listing)) {
        names.emplace_back(static_cast<const char*>(entry->d_name));
    }
    ::closedir(listing);
    return names;
}

}  // namespace

struct OutputStore::Found {
    std::string execution_id;
    timespec modified;
    Kept kept;
};

Result<std::unique_ptr<OutputStore>> OutputStore::open(const Fd& data_directory, Bounds bounds) {
    const bool made = ::mkdirat(data_directory.get(), kDirectory, 0700) == 0;
    if (!made && errno != EEXIST) {
        return fail(system_error("mkdir outputs"));
    }
    Fd directory(::openat(data_directory.get(), kDirectory, kOpenDirectory));
    if (!directory.valid()) {
        return fail(system_error("open outputs"));
    }
    std::unique_ptr<OutputStore> store(new OutputStore(std::move(directory), bounds));
    store->made_ = made;
    BJ_TRY_VOID(store->take_stock());
    return store;
}

Result<void> OutputStore::take_stock() {
    BJ_TRY(const std::vector<std::string> names, names_in(directory_));
    std::vector<Found> found;
    for (const std::string& name : names) {
        const bool unfinished = name.starts_with(kUnfinished);
        if (!is_execution_id(std::string_view(name).substr(unfinished ? kUnfinished.size() : 0))) {
            continue;
        }
        if (unfinished) {
            remove_run(directory_, name);
            continue;
        }
        const Fd run(::openat(directory_.get(), name.c_str(), kOpenDirectory));
        struct stat status{};
        if (!run.valid() || ::fstat(run.get(), &status) != 0) {
            continue;
        }
        if (std::optional<std::string> principal = read_owner(run)) {
            found.push_back({.execution_id = name,
                             .modified = status.st_mtim,
                             .kept = {.output = {find_stream(run, OutputStream::Stdout),
                                                 find_stream(run, OutputStream::Stderr)},
                                      .principal = std::move(*principal)}});
        }
    }
    std::ranges::sort(found, {}, [](const Found& one) {
        return std::pair(one.modified.tv_sec, one.modified.tv_nsec);
    });
    for (Found& one : found) {
        add(one.execution_id, std::move(one.kept));
    }
    [[maybe_unused]] const bool within_bounds = make_room(0);
    return {};
}

Result<void> OutputStore::give_to(uid_t user, gid_t group) const {
    struct stat status{};
    if (::fstat(directory_.get(), &status) != 0) {
        return fail(system_error("fstat outputs"));
    }
    if (status.st_uid == user) {
        return {};
    }
    if (!made_) {
        return fail(ErrorCode::Denied,
                    fmt::format("the directory \"{}\" in the data directory belongs to another "
                                "user than the server will run as; give it to that user or remove "
                                "it",
                                kDirectory));
    }
    if (::fchown(directory_.get(), user, group) != 0) {
        return fail(system_error("fchown outputs"));
    }
    return {};
}

OutputRecording OutputStore::record(OutputOwner owner, Bytes stream_limit) {
    return {*this, std::move(owner), stream_limit};
}

const OutputStore::Kept* OutputStore::find_kept(const OutputOwner& owner) const {
    const auto found = runs_.find(owner.execution_id);
    return found != runs_.end() && found->second.principal == owner.principal ? &found->second
                                                                              : nullptr;
}

std::optional<StoredOutput> OutputStore::find(const OutputOwner& owner) const {
    const Kept* kept = find_kept(owner);
    return kept == nullptr ? std::nullopt : std::optional(kept->output);
}

std::vector<std::string> OutputStore::list(std::string_view principal) const {
    std::vector<std::string> ids;
    for (auto id = ages_.rbegin(); id != ages_.rend(); ++id) {
        if (runs_.at(*id).principal == principal) {
            ids.push_back(*id);
        }
    }
    return ids;
}

Result<OpenStream> OutputStore::open_stream(const OutputOwner& owner, OutputStream stream) const {
    const Kept* kept = find_kept(owner);
    if (kept == nullptr || !kept->output[index_of(stream)]) {
        return fail(ErrorCode::NotFound,
                    "no such output is kept: the run is unknown, all it wrote is in its result, "
                    "or it was removed to make room");
    }
    const StoredStream& stored = *kept->output[index_of(stream)];
    const Fd run(::openat(directory_.get(), owner.execution_id.c_str(), kOpenDirectory));
    const std::string name = file_name(stream, stored.cut);
    Fd file(::openat(run.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status{};
    if (!run.valid() || !file.valid() || ::fstat(file.get(), &status) != 0) {
        return fail(system_error("open a stored output"));
    }
    if (!S_ISREG(status.st_mode)) {
        return fail(system_error("open a stored output", EINVAL));
    }
    return OpenStream{.file = std::move(file), .bytes = stored.bytes};
}

bool OutputStore::make_room(std::uint64_t bytes) {
    const std::uint64_t needed = unfinished_bytes_ + bytes;
    if (needed > bounds_.space.count) {
        return false;
    }
    while (kept_bytes_ > bounds_.space.count - needed) {
        remove_oldest();
    }
    return true;
}

void OutputStore::add(const std::string& execution_id, Kept kept) {
    while (runs_.size() >= bounds_.runs) {
        remove_oldest();
    }
    kept_bytes_ += size_of(kept.output);
    runs_.emplace(execution_id, std::move(kept));
    ages_.push_back(execution_id);
}

void OutputStore::remove_oldest() {
    const auto oldest = runs_.find(ages_.front());
    remove_run(directory_, oldest->first);
    kept_bytes_ -= size_of(oldest->second.output);
    runs_.erase(oldest);
    ages_.pop_front();
}

OutputRecording::OutputRecording(OutputRecording&& other) noexcept
    : store_(std::exchange(other.store_, nullptr)),
      owner_(std::move(other.owner_)),
      limit_(other.limit_),
      directory_(std::move(other.directory_)),
      streams_(std::move(other.streams_)),
      bytes_(other.bytes_),
      fault_(std::move(other.fault_)) {}

OutputRecording::~OutputRecording() {
    if (store_ == nullptr || !directory_.valid()) {
        return;
    }
    remove_run(store_->directory_, fmt::format("{}{}", kUnfinished, owner_.execution_id));
    store_->unfinished_bytes_ -= bytes_;
}

void OutputRecording::append(OutputStream stream, std::string_view data) {
    Stream& kept = streams_[index_of(stream)];
    if (kept.ended || data.empty()) {
        return;
    }
    const std::uint64_t stored = kept.stored ? kept.stored->bytes : 0;
    const std::string_view fitting = data.substr(0, limit_ - stored);
    // What does not fit is the end of it, so that what is kept has no hole.
    const bool has_room = store_->make_room(fitting.size());
    kept.ended = !has_room || fitting.size() < data.size();
    if (!has_room) {
        return;
    }
    if (const Result<void> written = write(stream, fitting); !written) {
        kept.ended = true;
        fault_ = fault_.value_or(written.error());
    }
}

Result<void> OutputRecording::make_directory() {
    const Fd& parent = store_->directory_;
    const std::string name = fmt::format("{}{}", kUnfinished, owner_.execution_id);
    if (::mkdirat(parent.get(), name.c_str(), 0700) != 0) {
        return fail(system_error("mkdir for an output"));
    }
    directory_ = Fd(::openat(parent.get(), name.c_str(), kOpenDirectory));
    if (!directory_.valid()) {
        const Error error = system_error("open the directory of an output");
        ::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR);
        return fail(error);
    }
    if (Result<void> written = write_owner(directory_, owner_.principal); !written) {
        directory_.reset();
        remove_run(parent, name);
        return written;
    }
    return {};
}

Result<void> OutputRecording::open_file(OutputStream stream) {
    if (!directory_.valid()) {
        BJ_TRY_VOID(make_directory());
    }
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const std::string name = file_name(stream, false);
    Fd file(::openat(directory_.get(), name.c_str(), kFlags, 0600));
    if (!file.valid()) {
        return fail(system_error("create an output file"));
    }
    streams_[index_of(stream)].file = std::move(file);
    streams_[index_of(stream)].stored.emplace();
    return {};
}

Result<void> OutputRecording::write(OutputStream stream, std::string_view data) {
    Stream& kept = streams_[index_of(stream)];
    if (!kept.stored && !data.empty()) {
        BJ_TRY_VOID(open_file(stream));
    }
    while (!data.empty()) {
        const ssize_t count = ::write(kept.file.get(), data.data(), data.size());
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return fail(system_error("write an output file"));
        }
        data.remove_prefix(static_cast<std::size_t>(count));
        kept.stored->bytes += static_cast<std::uint64_t>(count);
        bytes_ += static_cast<std::uint64_t>(count);
        store_->unfinished_bytes_ += static_cast<std::uint64_t>(count);
    }
    return {};
}

Result<bool> OutputRecording::publish() {
    if (!directory_.valid()) {
        return false;
    }
    StoredOutput output;
    for (const OutputStream stream : kStreams) {
        Stream& kept = streams_[index_of(stream)];
        if (!kept.stored) {
            continue;
        }
        kept.file.reset();
        kept.stored->cut = kept.ended;
        output[index_of(stream)] = kept.stored;
        if (kept.ended && ::renameat(directory_.get(), file_name(stream, false).c_str(),
                                     directory_.get(), file_name(stream, true).c_str()) != 0) {
            return fail(system_error("rename an output file"));
        }
    }
    const std::string unfinished = fmt::format("{}{}", kUnfinished, owner_.execution_id);
    if (::renameat(store_->directory_.get(), unfinished.c_str(), store_->directory_.get(),
                   owner_.execution_id.c_str()) != 0) {
        return fail(system_error("rename an output"));
    }
    store_->unfinished_bytes_ -= bytes_;
    std::exchange(store_, nullptr)->add(owner_.execution_id, {output, owner_.principal});
    return true;
}

}  // namespace belljar::storage
