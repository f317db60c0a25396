#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "config/settings.h"
#include "storage/conversation_store.h"
#include "storage/data_directory.h"

namespace belljar::apps {

[[nodiscard]] storage::ConversationStore::Bounds conversation_bounds(
    const config::Settings& settings);

// What a server removes by itself.
[[nodiscard]] execution::CleanupOrder cleanup_order(const config::StorageSettings& settings);

// The conversations of the one local user, below mcp/ in the data directory: `belljar mcp` and
// `belljar run` share them, several at a time. `belljar serve` has its own.
class LocalConversations {
   public:
    static Result<LocalConversations> open(const config::Settings& settings);
    // To the account that the process will run as.
    [[nodiscard]] Result<void> give_to(uid_t user, gid_t group) const;
    [[nodiscard]] storage::ConversationStore* store() const { return store_.get(); }

   private:
    LocalConversations(storage::DataDirectory data, storage::DataDirectory own)
        : data_(std::move(data)), own_(std::move(own)) {}

    storage::DataDirectory data_;
    storage::DataDirectory own_;
    std::unique_ptr<storage::ConversationStore> store_;
};

}  // namespace belljar::apps
