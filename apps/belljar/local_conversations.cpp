#include "local_conversations.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace belljar::apps {

std::string choose_data_directory(const config::Settings& settings) {
    if (!settings.server.data_dir.empty()) {
        return settings.server.data_dir;
    }
    if (::geteuid() == 0) {
        return "/var/lib/belljar";
    }
    const char* data_home = std::getenv("XDG_DATA_HOME");
    const char* home = std::getenv("HOME");
    return data_home != nullptr ? fmt::format("{}/belljar", data_home)
                                : fmt::format("{}/.local/share/belljar", home ? home : "");
}

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
