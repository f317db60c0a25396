#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "crypto/digest.h"
#include "execution/conversation.h"
#include "storage/conversation_directory.h"
#include "storage/staged_file.h"
#include "storage/tally.h"

namespace belljar::storage {

// What one conversation may have at most, and all of one principal together.
struct ConversationBounds {
    Bytes space = gibibytes(1);
    std::size_t entries = 10'000;  // files and directories
    Bytes principal_space{std::numeric_limits<std::uint64_t>::max()};
    std::uint64_t principal_entries = std::numeric_limits<std::uint64_t>::max();
};

// Several changes, which are seen when finish() is called and survive a crash from then on. Holds
// the conversation's lock; the principal's only while they are put in place, and what is too much
// for the principal is found out then at the latest. What is not finished leaves nothing behind.
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
    ConversationChanges(ConversationChanges&&) noexcept = default;
    ConversationChanges& operator=(ConversationChanges&&) = delete;
    ConversationChanges(const ConversationChanges&) = delete;
    ConversationChanges& operator=(const ConversationChanges&) = delete;
    ~ConversationChanges();

    // As it will be; nothing if there will be nothing of that name.
    [[nodiscard]] const StoredEntry* find(const std::string& path) const;
    // Precondition unless it holds for the file as it is now.
    [[nodiscard]] Result<void> check(const std::string& path,
                                     const execution::FileCondition& condition) const;

    // QuotaReached if there would be more than the bounds allow. A file that could not be had is
    // forgotten, and the next one may begin.
    Result<void> make_directory(const std::string& path);
    Result<void> begin_file(const NewFile& file);
    Result<void> append(std::string_view data);
    // One whose SHA-256 is `unwanted` is forgotten.
    Result<void> end_file(std::string_view unwanted = {});
    void drop_file();
    // A file that is complete and synchronised already.
    Result<void> add_staged(const NewFile& file, StagedFile staged, std::string sha256);
    // A directory only if nothing is in it.
    void remove(const std::string& path);
    // A file, or a directory with everything that is in it.
    Result<void> remove_tree(const std::string& path);
    // Conflict if something is there that may not be replaced.
    Result<void> move(const std::string& from, const std::string& to, execution::Existing existing);

    // In the order in which they were made. What could not be put in its place is not among them.
    // AllOrNone, for nothing but files: an error if one of them has not got its place, and then
    // those that are new are taken back; QuotaReached if all together are too much for the
    // principal.
    enum class Placing { EachAlone, AllOrNone };
    Result<std::vector<Done>> finish(Placing placing = Placing::EachAlone);
    // Paths of files that were too much for the principal.
    [[nodiscard]] const std::vector<std::string>& refused() const { return refused_; }

   private:
    struct Pending {
        enum class Action { MakeDirectory, Place, Remove, RemoveTree, Move };

        Action action = Action::Place;
        StoredEntry entry{};
        std::string temporary{};
        std::string sha256{};
        bool replaces = false;
        std::string target{};  // of a move
    };
    // What is there, and what of it the principal's bounds count.
    struct Content {
        std::map<std::string, StoredEntry> entries{};
        std::uint64_t bytes = 0;

        void put(const StoredEntry& entry);
        void erase(const std::string& path);
        [[nodiscard]] std::vector<StoredEntry> tree(const std::string& path) const;
        [[nodiscard]] std::size_t missing(const std::string& path) const;
        [[nodiscard]] Tally tally() const;
    };

    ConversationChanges(const ConversationDirectory& directory, ConversationBounds bounds)
        : directory_(&directory), bounds_(bounds) {}

    [[nodiscard]] Result<void> check_room(const std::string& path, std::uint64_t size) const;
    [[nodiscard]] bool is_same(const Pending& pending) const;
    [[nodiscard]] bool is_too_much(const Pending& pending, const Tally& others) const;
    [[nodiscard]] bool are_too_much(const Tally& others) const;
    Result<void> make_durable() const;
    Result<void> apply(const Pending& pending);
    Result<void> place(const Pending& pending, int parent, const char* name) const;
    Result<void> synchronise_new(std::string path) const;
    Result<void> place_each(const Tally& others, std::vector<Done>& done);
    Result<void> place_together(std::vector<Done>& done);
    Result<void> make_parents(const std::string& path) const;
    void take_back(const std::vector<Pending>& all,
                   const std::vector<const Pending*>& placed) const;
    void report(const Pending& pending, std::vector<Done>& done);

    const ConversationDirectory* directory_;  // outlives this
    ConversationBounds bounds_;
    TimePoint deadline_{};
    Fd lock_;
    Content now_;   // as it is
    Content then_;  // as it will be
    Tally others_;  // of the principal, when this began
    std::vector<Pending> pending_;
    std::vector<StagedFile> staged_;
    std::vector<std::string> refused_;
    bool many_ = false;  // so that all are written out at once
    Pending coming_;
    Fd file_;
    crypto::Sha256 hash_;
};

}  // namespace belljar::storage
