#pragma once

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>

#include "api/routes.h"
#include "base/fd.h"
#include "config/settings.h"
#include "engine/alarm.h"
#include "runtime.h"
#include "storage/conversation_store.h"
#include "transport/http_router.h"
#include "transport/webhook_sender.h"

namespace belljar::apps {

// Where holds are kept, below the data directory; given to the account that the server runs as.
[[nodiscard]] Result<Fd> open_alerts_folder(const Fd& data_directory);

// Rules, blocks and the webhook of a running server: wires the alarm to everybody it reaches.
// Borrows the runtime and the folder, and is not destroyed before the runtime has ended.
class Alerting {
   public:
    // After privileges are dropped. Refuses rules that cannot be read.
    static Result<std::unique_ptr<Alerting>> create(const config::AlertSettings& settings,
                                                    Runtime& runtime, const Fd& folder,
                                                    const storage::ConversationStore& store);

    [[nodiscard]] engine::Alarm& alarm() { return alarm_; }
    void add_to(api::Routes& routes);
    // From now on alerts are posted, and rules read again when they change.
    void begin();
    void stop();
    // The same, which also tells of those who show no valid token.
    [[nodiscard]] transport::HttpRouter::Watch watch(transport::HttpRouter::Watch watch);

   private:
    // What a file was when it was last read.
    struct Sight {
        std::uint64_t inode = 0;
        std::int64_t size = 0;
        std::int64_t changed = 0;

        bool operator==(const Sight&) const = default;
    };

    // What is on the disk.
    struct Places {
        const Fd& folder;
        const storage::ConversationStore& store;
    };

    Alerting(const config::AlertSettings& settings, Runtime& runtime, Places places,
             alerts::Rules rules, alerts::Holds holds);
    [[nodiscard]] engine::Alarm::Hands hands();
    Task<void> end_sessions(std::string principal, std::string conversation_id);
    Task<void> watch_rules();
    void read_rules_again();
    void keep(const std::string& text) const;

    config::AlertSettings settings_;
    Runtime& runtime_;
    const Fd& folder_;
    engine::Alarm alarm_;
    engine::KeptConversations evidence_;  // without a guard
    std::unique_ptr<transport::WebhookSender> webhook_;
    asio::steady_timer look_;
    Sight seen_;
    bool stopping_ = false;
};

}  // namespace belljar::apps
