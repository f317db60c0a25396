#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "storage/sqlite.h"

namespace belljar::storage {

// The steps that make the newest form of the state database, one after the other: the first makes
// version 1 of an empty file, the last the version of this program. A step that has been released
// is never changed.
[[nodiscard]] std::span<const char* const> state_migrations();

// Brings a database to the newest version, each step in a transaction of its own. Unsupported if
// a later program has made it.
Result<void> migrate_state(SqliteDatabase& database);

}  // namespace belljar::storage
