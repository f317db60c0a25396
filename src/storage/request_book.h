#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "execution/state_record.h"
#include "storage/sqlite.h"
#include "storage/upkeep.h"

// What the state database says of requests: keys of those that may be repeated, marks of what may
// be used once, and what principals have used. For jobs of StateDatabase.
namespace belljar::storage {

// Whoever gets Fresh has it in progress. QuotaReached if the principal has as many keys as it may.
Result<execution::RepeatClaim> claim_key(SqliteDatabase& database, const execution::RepeatKey& key);
// Forgets the oldest answers of the principal if all together are too large.
Result<void> settle_key(SqliteDatabase& database, const execution::RepeatKey& key,
                        const execution::StoredAnswer& answer);
// Remembers that there was an answer, and not which.
Result<void> settle_unkept(SqliteDatabase& database, const execution::RepeatKey& key,
                           unsigned status);
Result<void> release_key(SqliteDatabase& database, const execution::RepeatKey& key);
// Nobody answers any more what was in progress when an earlier server ended.
Result<void> release_open_keys(SqliteDatabase& database);

// Conflict if it was used before.
Result<void> use_mark(SqliteDatabase& database, const std::string& mark,
                      execution::WallTime expires);

Result<void> add_usage(SqliteDatabase& database, const execution::DailyUsage& more);
// Latest day first.
Result<std::vector<execution::DailyUsage>> find_usage(SqliteDatabase& database,
                                                      const execution::UsageQuery& query);
// 2026-01-31
[[nodiscard]] std::string day_of(execution::WallTime time);

// Removes what has expired; at most some hundreds at a time.
Result<Upkeep> forget_requests(SqliteDatabase& database);

}  // namespace belljar::storage
