#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"
#include "execution/run_record.h"
#include "storage/sqlite.h"
#include "storage/upkeep.h"

// What the state database says of runs. For jobs of StateDatabase.
namespace belljar::storage {

struct RunBounds {
    std::size_t count = 10'000;
    std::chrono::seconds age = std::chrono::hours(24 * 30);
};

// A new run, or what has become of one.
Result<void> write_run(SqliteDatabase& database, const execution::RunRecord& record);

// InvalidArgument for a cursor that is none.
Result<execution::RunPage> list_runs(SqliteDatabase& database, const execution::RunQuery& query);

// NotFound if there is none, or not for this principal.
Result<execution::RunRecord> find_run(SqliteDatabase& database,
                                      const std::optional<std::string>& principal,
                                      const std::string& execution_id);

// Those that were going on when an earlier server ended.
Result<void> end_open_runs(SqliteDatabase& database, const std::string& failure);

// Removes what is beyond the bounds, the oldest first; at most some hundreds at a time.
Result<Upkeep> forget_runs(SqliteDatabase& database, const RunBounds& bounds);

}  // namespace belljar::storage
