#include "local_conversations.h"

#include "data_place.h"

namespace belljar::apps {

storage::ConversationStore::Bounds conversation_bounds(const config::Settings& settings) {
    return {.each = {.space = settings.limits.workspace,
                     .principal_space = settings.storage.principal_space,
                     .principal_entries = settings.storage.principal_files},
            .conversations = settings.storage.principal_conversations};
}

execution::CleanupOrder cleanup_order(const config::StorageSettings& settings) {
    const auto seconds = [](Duration time) -> std::optional<std::chrono::seconds> {
        return time > Duration{}
                   ? std::optional(std::chrono::duration_cast<std::chrono::seconds>(time))
                   : std::nullopt;
    };
    execution::CleanupOrder order{.mode = execution::CleanupOrder::Mode::Remove,
                                  .idle = seconds(settings.conversation_idle),
                                  .age = seconds(settings.conversation_age)};
    if (settings.total_space.count > 0) {
        order.total_bytes = settings.total_space.count;
    }
    return order;
}

Result<LocalConversations> LocalConversations::open(const config::Settings& settings) {
    const std::string path = choose_data_directory(settings);
    BJ_TRY(storage::DataDirectory data, storage::DataDirectory::open_shared(path));
    BJ_TRY(storage::DataDirectory own, storage::DataDirectory::open_shared(path + "/mcp"));
    LocalConversations opened(std::move(data), std::move(own));
    BJ_TRY(opened.store_,
           storage::ConversationStore::open(opened.own_.fd(), conversation_bounds(settings)));
    return opened;
}

Result<void> LocalConversations::give_to(uid_t user, gid_t group) const {
    BJ_TRY_VOID(data_.give_to(user, group));
    BJ_TRY_VOID(own_.give_to(user, group));
    return store_->give_to(user, group);
}

}  // namespace belljar::apps
