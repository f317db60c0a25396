#pragma once

#include <memory>

#include "base/log.h"
#include "base/result.h"
#include "config/settings.h"
#include "engine/engine.h"
#include "storage/data_directory.h"
#include "storage/state_database.h"

namespace belljar::apps {

// The state database of `belljar serve`: what it is kept within, and what is done at its start.
class ServerState {
   public:
    static Result<std::unique_ptr<ServerState>> prepare(const config::Settings& settings,
                                                        const storage::DataDirectory& directory);

    [[nodiscard]] storage::StateDatabase* database() const { return database_.get(); }

    // After privileges were dropped. Settles what an earlier server left open.
    [[nodiscard]] Result<void> start(engine::Engine& engine) const;

    // Stops the database while what it reports to is still there.
    class Use {
       public:
        explicit Use(const ServerState& state) : state_(state) {}
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;
        ~Use() { state_.database_->stop(); }

       private:
        const ServerState& state_;
    };

   private:
    explicit ServerState(LogLevel level) : log_("state", level) {}

    Log log_;
    std::unique_ptr<storage::StateDatabase> database_;
};

}  // namespace belljar::apps
