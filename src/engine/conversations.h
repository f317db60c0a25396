#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/task.h"
#include "execution/conversation.h"
#include "storage/file_import.h"
#include "storage/staged_file.h"

namespace belljar::engine {

struct ByteRange {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;  // at most kMostRead are given
};

inline constexpr std::uint64_t kMostRead = 16ULL * 1024 * 1024;

// A file to be written: its content as text, as a file that is read from its beginning and copied,
// or as one that was filled where it will stay (see stage_file).
struct FilePut {
    execution::FileName name{};
    std::variant<std::string, Fd, storage::StagedFile> content{};
    execution::FileCondition condition{};
    bool executable = false;
};

struct PutFile {
    execution::FileView file{};  // with its digest
    execution::FileChange::Kind kind = execution::FileChange::Kind::Created;
};

// Several files that come in at once. Their content is read on another thread.
struct FileImport {
    execution::FileName where{};  // path: the directory that they go to; empty: the topmost
    std::vector<storage::IncomingFile> files{};
    execution::Existing existing = execution::Existing::Kept;
};

// A regular file that is open for reading. Whoever replaces or deletes it leaves this one as it is.
struct OpenFile {
    Fd file{};
    execution::FileView view{};
};

struct MadeConversation {
    execution::ConversationView view{};
    bool created = false;  // or it was there
};

// The files that outlive runs, for the protocols. Everything that is said about a conversation or a
// file of somebody else is what is said about one that does not exist. A conversation comes into
// being with its first file. Errors: NotFound; InvalidArgument for an id or a path that cannot be;
// QuotaReached; StorageFull; TooLarge; Conflict; Precondition where a condition does not hold;
// Unsupported where nothing is kept. This class keeps nothing: it is what
// an installation without a data directory has, and what fakes begin with. On the I/O thread.
class Conversations {
   public:
    using Watcher = std::function<void(const execution::FileChange&)>;
    // Whoever watches holds one; no change is told any more once it is gone.
    using Watch = std::shared_ptr<Watcher>;

    Conversations() = default;
    Conversations(const Conversations&) = delete;
    Conversations& operator=(const Conversations&) = delete;
    virtual ~Conversations() = default;

    // Latest change first.
    virtual Task<Result<std::vector<execution::ConversationView>>> list_conversations(
        std::string principal);
    // Sorted by path. With a path: of files that have it, or that are below it.
    virtual Task<Result<std::vector<execution::FileView>>> list_files(execution::FileName where);
    virtual Task<Result<execution::FileView>> find_file(execution::FileName name,
                                                        execution::Digest digest);
    virtual Task<Result<execution::FilePart>> read_file(execution::FileName name, ByteRange range);
    // The same for what goes back into a run: as programs find it, nothing in it is masked.
    virtual Task<Result<execution::FilePart>> read_for_run(execution::FileName name,
                                                           ByteRange range);
    // Makes the conversation and the directories. The old content is there until the new one is.
    virtual Task<Result<execution::FileView>> write_file(execution::FileName name,
                                                         std::string content);
    virtual Task<Result<void>> delete_file(execution::FileName name);
    // With all files; Conflict while a run has them.
    virtual Task<Result<void>> delete_conversation(std::string principal,
                                                   std::string conversation_id);
    // Makes an empty one.
    virtual Task<Result<MadeConversation>> create_conversation(std::string principal,
                                                               std::string conversation_id);
    virtual Task<Result<execution::ConversationView>> find_conversation(
        std::string principal, std::string conversation_id);
    // Without a principal: everybody's, for administrators.
    virtual Task<Result<execution::ConversationPage>> page_conversations(
        std::optional<std::string> principal, execution::PageQuery page);
    // Of one conversation, or with an empty id of all that the principal has.
    virtual Task<Result<execution::StorageUsage>> usage(std::string principal,
                                                        std::string conversation_id);

    virtual Task<Result<execution::FilePage>> page_files(execution::FileQuery query);
    virtual Task<Result<OpenFile>> open_file(execution::FileName name, execution::Digest digest);
    // A file to fill and to give to put_file(); what is not put is forgotten. Makes the
    // conversation, but none of the path's directories.
    virtual Task<Result<storage::StagedFile>> stage_file(execution::FileName name);
    // Makes the conversation and the directories. Once this has answered, the file survives a
    // crash; before, and if it fails, the old content is there.
    virtual Task<Result<PutFile>> put_file(FilePut put);
    // Several files, all of them or none. Makes the conversation.
    virtual Task<Result<std::vector<PutFile>>> import_files(FileImport import);
    virtual Task<Result<void>> make_directory(execution::FileName name);
    // Files and whole directories. Conflict if something is there that may not be replaced, or that
    // is a directory.
    virtual Task<Result<execution::FileView>> move_file(execution::FileMove move);
    // A file, or a directory with everything in it: how many files went.
    virtual Task<Result<std::uint64_t>> delete_tree(execution::FileName name,
                                                    execution::FileCondition condition);

    // Removes conversations that have not been used for long, are old, or are too much together.
    // One that a run has or that is being changed stays.
    virtual Task<Result<execution::CleanupReport>> cleanup(execution::CleanupOrder order);

    // An address at which the file can be had for some time by whoever knows it; empty if there are
    // none here.
    [[nodiscard]] virtual std::string url_of(const execution::FileName& name) const;

    // Tells of every change of every principal's files, made by this process: who watches chooses.
    [[nodiscard]] virtual Watch watch(Watcher watcher);
};

// belljar://conversations/{id}/files/{path}, percent-encoded; slashes of the path stay.
[[nodiscard]] std::string file_uri(std::string_view conversation_id, std::string_view path);

// Nothing if it is no such address. Without a principal, which the address does not tell.
[[nodiscard]] std::optional<execution::FileName> parse_file_uri(std::string_view uri);

}  // namespace belljar::engine
