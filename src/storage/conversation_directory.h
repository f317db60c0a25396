#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "crypto/digest.h"
#include "execution/conversation.h"

namespace belljar::storage {

// What one conversation may have at most.
struct ConversationBounds {
    Bytes space = gibibytes(1);
    std::size_t entries = 10'000;  // files and directories
};

// A file or directory as it lies in the store.
struct StoredEntry {
    std::string path{};
    bool directory = false;
    bool executable = false;
    std::uint64_t size = 0;
    std::int64_t modified = 0;  // nanoseconds since 1970

    bool operator==(const StoredEntry&) const = default;
};

[[nodiscard]] execution::FileView view_of(const StoredEntry& entry);
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
    // NotFound if it is none, or is being removed.
    static Result<ConversationDirectory> open(Fd directory);

    // Until the descriptor is closed. Conflict if it cannot be had in time.
    [[nodiscard]] Result<Fd> lock(Lock kind, TimePoint deadline) const;
    // For a run, which has the files to itself. Conflict if another has them.
    [[nodiscard]] Result<Fd> take_turn() const;

    // Everything, sorted so that a directory comes before what is in it.
    [[nodiscard]] Result<std::vector<StoredEntry>> walk() const;
    // NotFound if there is no regular file of that name.
    [[nodiscard]] Result<Fd> open_file(const std::string& path, StoredEntry& entry) const;

    [[nodiscard]] const Fd& files() const { return files_; }
    [[nodiscard]] const Fd& incoming() const { return incoming_; }
    [[nodiscard]] const Fd& fd() const { return directory_; }

   private:
    ConversationDirectory() = default;

    Fd directory_;
    Fd files_;
    Fd incoming_;
};

// Several changes, which are seen when finish() is called and survive a crash from then on. Holds
// the lock. What is not finished is forgotten.
class ConversationChanges {
   public:
    struct NewFile {
        std::string path{};
        std::int64_t modified = 0;  // never later than now
        bool executable = false;
    };
    struct Done {
        execution::FileChange::Kind kind = execution::FileChange::Kind::Created;
        execution::FileView file{};  // with its digest; only the path of what is deleted
    };

    static Result<ConversationChanges> begin(const ConversationDirectory& directory,
                                             ConversationBounds bounds, TimePoint deadline);

    // QuotaReached if there would be more than the bounds allow. A file that could not be had is
    // forgotten, and the next one may begin.
    Result<void> make_directory(const std::string& path);
    Result<void> begin_file(const NewFile& file);
    Result<void> append(std::string_view data);
    // One whose SHA-256 is `unwanted` is forgotten.
    Result<void> end_file(std::string_view unwanted = {});
    void drop_file();
    // A directory only if nothing is in it.
    void remove(const std::string& path);

    // In the order in which they were made. What could not be put in its place is not among them.
    Result<std::vector<Done>> finish();

   private:
    struct Pending {
        enum class Action { MakeDirectory, Place, Remove } action = Action::Place;
        StoredEntry entry{};
        std::string temporary{};
        std::string sha256{};
        bool replaces = false;
    };

    ConversationChanges(const ConversationDirectory& directory, ConversationBounds bounds)
        : directory_(&directory), bounds_(bounds) {}

    [[nodiscard]] Result<void> check_room(const std::string& path) const;
    [[nodiscard]] bool is_same(const Pending& pending) const;
    Result<void> make_durable() const;
    Result<void> apply(const Pending& pending) const;

    const ConversationDirectory* directory_;  // outlives this
    ConversationBounds bounds_;
    Fd lock_;
    std::map<std::string, StoredEntry> now_;  // as it will be
    std::uint64_t used_ = 0;
    std::vector<Pending> pending_;
    bool many_ = false;  // so that all are written out at once
    Pending coming_;
    Fd file_;
    crypto::Sha256 hash_;
};

}  // namespace belljar::storage
