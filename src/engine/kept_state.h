#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <map>
#include <string>
#include <vector>

#include "engine/database_calls.h"
#include "engine/state.h"
#include "storage/state_database.h"

namespace belljar::engine {

// State in the state database. What is used today is known here as well, so that whoever decides
// on a request need not wait.
class KeptState final : public State {
   public:
    KeptState(const asio::any_io_executor& executor, storage::StateDatabase& database)
        : calls_(executor, database) {}

    // What an earlier server counted today.
    void remember(const std::vector<execution::DailyUsage>& today);
    void count(execution::DailyUsage more);

    Task<Result<execution::RepeatClaim>> claim(execution::RepeatKey key) override;
    Task<Result<void>> settle(execution::RepeatKey key, execution::StoredAnswer answer) override;
    Task<Result<void>> release(execution::RepeatKey key) override;
    Task<Result<void>> use_once(std::string mark, execution::WallTime expires) override;
    [[nodiscard]] execution::DailyUsage used_today(const std::string& principal) const override;
    Task<Result<std::vector<execution::DailyUsage>>> usage(execution::UsageQuery query) override;

   private:
    DatabaseCalls calls_;
    std::string day_;
    std::map<std::string, execution::DailyUsage> today_;  // by principal
};

}  // namespace belljar::engine
