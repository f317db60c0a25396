#include "local_conversations.h"

#include "data_place.h"

namespace belljar::apps {

storage::ConversationStore::Bounds conversation_bounds(const config::Settings& settings) {
    return {.each = {.space = settings.limits.workspace}};
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
