#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "execution/conversation.h"

namespace belljar::engine {

struct ByteRange {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;  // at most kMostRead are given
};

inline constexpr std::uint64_t kMostRead = 16ULL * 1024 * 1024;

// The files that outlive runs, for the protocols. Everything that is said about a conversation or a
// file of somebody else is what is said about one that does not exist. A conversation comes into
// being with its first file. Errors: NotFound; InvalidArgument for an id or a path that cannot be;
// QuotaReached; TooLarge; Unsupported where nothing is kept. This class keeps nothing: it is what
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
    // Makes the conversation and the directories. The old content is there until the new one is.
    virtual Task<Result<execution::FileView>> write_file(execution::FileName name,
                                                         std::string content);
    virtual Task<Result<void>> delete_file(execution::FileName name);
    // With all files; Conflict while a run has them.
    virtual Task<Result<void>> delete_conversation(std::string principal,
                                                   std::string conversation_id);
    // Tells of every change of every principal's files, made by this process: who watches chooses.
    [[nodiscard]] virtual Watch watch(Watcher watcher);
};

// belljar://conversations/{id}/files/{path}, percent-encoded; slashes of the path stay.
[[nodiscard]] std::string file_uri(std::string_view conversation_id, std::string_view path);

// Nothing if it is no such address. Without a principal, which the address does not tell.
[[nodiscard]] std::optional<execution::FileName> parse_file_uri(std::string_view uri);

}  // namespace belljar::engine
