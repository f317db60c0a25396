#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "execution/conversation.h"
#include "storage/conversation_changes.h"
#include "storage/conversation_directory.h"
#include "storage/staged_file.h"

namespace belljar::storage {

// InvalidArgument unless it is 1 to 256 bytes of valid UTF-8 without control characters.
[[nodiscard]] Result<void> check_conversation_id(std::string_view conversation_id);

// The files of conversations, below conversations/ in the data directory. A principal has a
// directory, and each of its conversations one in there; their names are hashes, so that no name
// that a caller chose is ever a path, and what was chosen stands in a file beside. Several threads
// and processes may use one directory: each conversation has locks of its own. Calls block on the
// disk.
class ConversationStore {
   public:
    struct Bounds {
        ConversationBounds each{};
        std::size_t conversations = 1000;              // of one principal
        Duration patience = std::chrono::seconds(10);  // for a lock
    };
    struct Written {
        execution::FileView file{};
        execution::FileChange::Kind kind = execution::FileChange::Kind::Created;
    };
    struct Made {
        execution::ConversationView view{};
        bool created = false;  // or it was there
    };
    struct Opened {
        Fd file{};
        execution::FileView view{};
    };
    // How a file that is staged gets its place.
    struct Placing {
        execution::FileName name{};
        execution::FileCondition condition{};
        bool executable = false;
    };

    static Result<std::unique_ptr<ConversationStore>> open(const Fd& data_directory, Bounds bounds);
    // Gives a directory that open() made to the account that the server will run as. Denied if one
    // that was there belongs to somebody else.
    [[nodiscard]] Result<void> give_to(uid_t user, gid_t group) const;
    [[nodiscard]] const Bounds& bounds() const { return bounds_; }

    // How much a principal may have, where that differs from what all may; 0: as much as it likes.
    // Called by whatever thread uses this; set before any does.
    using SpaceOf = std::function<std::optional<Bytes>(const std::string& principal)>;
    void set_space_of(SpaceOf space_of) { space_of_ = std::move(space_of); }
    [[nodiscard]] ConversationBounds bounds_of(const std::string& principal) const;

    // Latest change first.
    [[nodiscard]] Result<std::vector<execution::ConversationView>> list(
        const std::string& principal) const;
    // Without a principal: everybody's.
    [[nodiscard]] Result<execution::ConversationPage> page(
        const std::optional<std::string>& principal, const execution::PageQuery& query) const;
    [[nodiscard]] Result<execution::ConversationView> find_conversation(
        const execution::FileName& of) const;
    [[nodiscard]] Result<Made> create(const execution::FileName& of) const;
    // Of a conversation, or with an empty id of all that the principal has.
    [[nodiscard]] Result<execution::StorageUsage> usage(const execution::FileName& of) const;
    // Takes away what was not finished when a process ended, as far as nobody uses it.
    void recover() const;
    [[nodiscard]] Result<execution::CleanupReport> clean_up(
        const execution::CleanupOrder& order) const;

    // Sorted; those at or below the path, if there is one.
    [[nodiscard]] Result<std::vector<execution::FileView>> files(
        const execution::FileName& where) const;
    [[nodiscard]] Result<execution::FileView> find(const execution::FileName& name,
                                                   execution::Digest digest) const;
    [[nodiscard]] Result<execution::FilePart> read(const execution::FileName& name,
                                                   std::uint64_t offset,
                                                   std::uint64_t length) const;
    [[nodiscard]] Result<Written> write(const execution::FileName& name,
                                        std::string_view content) const;
    [[nodiscard]] Result<execution::FilePage> page_files(const execution::FileQuery& query) const;
    [[nodiscard]] Result<Opened> open_file(const execution::FileName& name,
                                           execution::Digest digest) const;
    // Makes the conversation.
    [[nodiscard]] Result<StagedFile> stage(const execution::FileName& name) const;
    // The same with the content of a file, from its beginning.
    [[nodiscard]] Result<StagedFile> stage_copy(const execution::FileName& name,
                                                const Fd& content) const;
    [[nodiscard]] Result<Written> put(const Placing& placing, StagedFile staged) const;
    [[nodiscard]] Result<void> make_directory(const execution::FileName& name) const;
    // What was done, for who watches, and the file under its new name.
    [[nodiscard]] Result<std::vector<ConversationChanges::Done>> move(
        const execution::FileMove& move) const;
    // The paths of the files that went.
    [[nodiscard]] Result<std::vector<std::string>> remove_tree(
        const execution::FileName& name, const execution::FileCondition& condition) const;
    [[nodiscard]] Result<void> remove(const execution::FileName& name) const;
    [[nodiscard]] Result<void> remove_conversation(const std::string& principal,
                                                   const std::string& conversation_id) const;

    // NotFound if there is none.
    [[nodiscard]] Result<ConversationDirectory> open_conversation(
        const execution::FileName& of) const;
    // Makes it, if the principal may have another one.
    [[nodiscard]] Result<ConversationDirectory> make_conversation(
        const execution::FileName& of) const;

   private:
    struct Found {
        execution::FileName of{};
        ConversationDirectory directory;
    };

    ConversationStore(Fd directory, Bounds bounds)
        : directory_(std::move(directory)), bounds_(bounds) {}

    [[nodiscard]] Result<Fd> open_principal(const std::string& principal) const;
    [[nodiscard]] std::vector<Found> find_all(const std::optional<std::string>& principal) const;
    [[nodiscard]] static execution::ConversationView view_of(const Found& found);
    // Its locks are held.
    [[nodiscard]] Result<void> take_away(const execution::FileName& of) const;
    // False if somebody has it, or has used it since.
    [[nodiscard]] bool remove_unused(const Found& found, execution::CleanupOrder::Mode mode) const;
    [[nodiscard]] TimePoint deadline() const { return Clock::now() + bounds_.patience; }

    Fd directory_;
    Bounds bounds_;
    SpaceOf space_of_;
    bool made_ = false;
};

}  // namespace belljar::storage
