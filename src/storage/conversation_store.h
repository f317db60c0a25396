#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "execution/conversation.h"
#include "storage/conversation_directory.h"

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

    static Result<std::unique_ptr<ConversationStore>> open(const Fd& data_directory, Bounds bounds);
    // Gives a directory that open() made to the account that the server will run as. Denied if one
    // that was there belongs to somebody else.
    [[nodiscard]] Result<void> give_to(uid_t user, gid_t group) const;
    [[nodiscard]] const Bounds& bounds() const { return bounds_; }

    // Latest change first.
    [[nodiscard]] Result<std::vector<execution::ConversationView>> list(
        const std::string& principal) const;
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
    ConversationStore(Fd directory, Bounds bounds)
        : directory_(std::move(directory)), bounds_(bounds) {}

    [[nodiscard]] Result<Fd> open_principal(const std::string& principal) const;
    [[nodiscard]] TimePoint deadline() const { return Clock::now() + bounds_.patience; }

    Fd directory_;
    Bounds bounds_;
    bool made_ = false;
};

}  // namespace belljar::storage
