#include "server_state.h"

#include <chrono>
#include <vector>

#include "storage/request_book.h"
#include "storage/run_book.h"

namespace belljar::apps {
namespace {

using storage::SqliteDatabase;
using storage::Upkeep;

storage::RunBounds bounds_of(const config::StorageSettings& settings) {
    return {.count = settings.run_records_keep,
            .age = std::chrono::duration_cast<std::chrono::seconds>(settings.run_records_age)};
}

}  // namespace

Result<std::unique_ptr<ServerState>> ServerState::prepare(const config::Settings& settings,
                                                          const storage::DataDirectory& directory) {
    std::unique_ptr<ServerState> state(new ServerState(settings.log.level));
    BJ_TRY(state->database_,
           storage::StateDatabase::prepare(
               directory,
               {.upkeep = [bounds = bounds_of(settings.storage)](
                              SqliteDatabase& database) -> Result<Upkeep> {
                   BJ_TRY(const Upkeep runs, storage::forget_runs(database, bounds));
                   BJ_TRY(const Upkeep requests, storage::forget_requests(database));
                   return runs == Upkeep::More ? runs : requests;
               }},
               state->log_));
    return state;
}

Result<void> ServerState::start(engine::Engine& engine) const {
    const auto today = std::make_shared<std::vector<execution::DailyUsage>>();
    BJ_TRY_VOID(database_->start([today](SqliteDatabase& database) -> Result<void> {
        BJ_TRY_VOID(storage::end_open_runs(database, "the server ended before the run did"));
        BJ_TRY_VOID(storage::release_open_keys(database));
        BJ_TRY(*today, storage::find_usage(
                           database, {.from = storage::day_of(std::chrono::system_clock::now()),
                                      .limit = 100'000}));
        return {};
    }));
    engine.remember_usage(*today);
    return {};
}

}  // namespace belljar::apps
