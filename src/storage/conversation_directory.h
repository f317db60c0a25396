#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "execution/conversation.h"
#include "storage/staged_file.h"

namespace belljar::storage {

// A file or directory as it lies in the store.
struct StoredEntry {
    std::string path{};
    bool directory = false;
    bool executable = false;
    std::uint64_t size = 0;
    std::int64_t modified = 0;  // nanoseconds since 1970
    std::uint64_t inode = 0;
    std::int64_t changed = 0;  // nanoseconds since 1970; by the kernel, whatever a program says

    // Whether a jar that has one has the other.
    bool operator==(const StoredEntry& other) const {
        return path == other.path && directory == other.directory &&
               executable == other.executable && size == other.size && modified == other.modified;
    }
};

[[nodiscard]] execution::FileView view_of(const StoredEntry& entry);
// An error for a caller: a disk that is full, or a name that is taken by another kind of file.
[[nodiscard]] Error explain_storage(Error error);
[[nodiscard]] Result<void> synchronise(const Fd& file);
// SHA-256 of everything from where it stands, in hexadecimal.
[[nodiscard]] Result<std::string> digest_of(const Fd& file);

// The directory of one conversation: `files` with what it has, `incoming` with what is not complete
// yet, and two files to lock, by which threads and processes keep out of each other's way. Every
// access is by openat2 below `files`; links and special files do not exist for it. Any thread.
class ConversationDirectory {
   public:
    // Shared by readers of everything, exclusive for changes.
    enum class Lock { Shared, Exclusive };

    // Makes what is missing in a new directory.
    static Result<void> prepare(const Fd& directory);
    // NotFound if it is none, or is being removed. `owner` is the principal's directory, in which
    // it has this name.
    static Result<ConversationDirectory> open(Fd directory, Fd owner, std::string name);

    // Until the descriptor is closed. Conflict if it cannot be had in time.
    [[nodiscard]] Result<Fd> lock(Lock kind, TimePoint deadline) const;
    // For a run, which has the files to itself. Conflict if another has them.
    [[nodiscard]] Result<Fd> take_turn() const;

    // Everything, sorted so that a directory comes before what is in it.
    [[nodiscard]] Result<std::vector<StoredEntry>> walk() const;
    // A file in `incoming` that nobody takes for a left one as long as it is held.
    [[nodiscard]] Result<StagedFile> stage() const;
    // Removes what a crash has left in `incoming`.
    void clear_incoming() const;
    // Somebody has used it now.
    void touch() const;
    [[nodiscard]] execution::WallTime created() const;
    [[nodiscard]] execution::WallTime last_used() const;

    // NotFound if there is no regular file of that name.
    [[nodiscard]] Result<Fd> open_file(const std::string& path, StoredEntry& entry) const;

    [[nodiscard]] const Fd& files() const { return files_; }
    [[nodiscard]] const Fd& incoming() const { return incoming_; }
    [[nodiscard]] const Fd& fd() const { return directory_; }
    [[nodiscard]] const Fd& owner() const { return owner_; }
    [[nodiscard]] const std::string& name() const { return name_; }

   private:
    ConversationDirectory() = default;

    Fd directory_;
    Fd files_;
    Fd incoming_;
    Fd owner_;
    std::string name_;
};

}  // namespace belljar::storage
