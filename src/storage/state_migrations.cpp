#include "storage/state_migrations.h"

#include <fmt/format.h>

#include <array>

namespace belljar::storage {
namespace {

// Times are microseconds since 1970, durations microseconds.
constexpr const char* kRuns = R"sql(
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    execution_id TEXT NOT NULL UNIQUE,
    principal TEXT NOT NULL,
    conversation_id TEXT,
    session_id TEXT,
    language TEXT NOT NULL,
    state TEXT NOT NULL,
    status TEXT,
    failure TEXT,
    exit_code INTEGER,
    created INTEGER NOT NULL,
    started INTEGER,
    ended INTEGER,
    wall INTEGER NOT NULL DEFAULT 0,
    cpu INTEGER NOT NULL DEFAULT 0,
    memory_peak INTEGER NOT NULL DEFAULT 0,
    disk_written INTEGER NOT NULL DEFAULT 0,
    processes_peak INTEGER NOT NULL DEFAULT 0,
    output_bytes INTEGER NOT NULL DEFAULT 0,
    denials INTEGER NOT NULL DEFAULT 0,
    code_sha256 TEXT NOT NULL,
    code_bytes INTEGER NOT NULL,
    grade TEXT NOT NULL,
    label TEXT,
    trace TEXT
) STRICT;
CREATE INDEX runs_of_principal ON runs (principal, number);
CREATE INDEX runs_of_conversation ON runs (conversation_id, number)
    WHERE conversation_id IS NOT NULL;
CREATE INDEX runs_open ON runs (number) WHERE state <> 'ended';
CREATE TABLE run_results (
    number INTEGER PRIMARY KEY REFERENCES runs (number) ON DELETE CASCADE,
    result TEXT NOT NULL
) STRICT;
)sql";

constexpr const char* kRequests = R"sql(
CREATE TABLE repeat_keys (
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    expires INTEGER NOT NULL,
    status INTEGER,
    headers TEXT,
    body TEXT,
    PRIMARY KEY (principal, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX repeat_keys_by_expiry ON repeat_keys (expires);
CREATE TABLE used_marks (mark TEXT PRIMARY KEY, expires INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX used_marks_by_expiry ON used_marks (expires);
)sql";

constexpr const char* kUsage = R"sql(
CREATE TABLE daily_usage (
    principal TEXT NOT NULL,
    day TEXT NOT NULL,
    runs INTEGER NOT NULL DEFAULT 0,
    cpu INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (principal, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX daily_usage_by_day ON daily_usage (day);
)sql";

constexpr const char* kOldRuns = R"sql(
CREATE INDEX runs_by_age ON runs (created) WHERE state = 'ended';
)sql";

constexpr std::array<const char*, 4> kMigrations{kRuns, kRequests, kUsage, kOldRuns};

Result<void> take_step(SqliteDatabase& database, std::size_t version) {
    BJ_TRY_VOID(database.run("BEGIN IMMEDIATE"));
    Result<void> made = database.run(kMigrations[version]);
    if (made) {
        made = database.run(fmt::format("PRAGMA user_version = {}", version + 1));
    }
    if (made) {
        made = database.run("COMMIT");
    }
    if (!made && database.in_transaction()) {
        [[maybe_unused]] const Result<void> undone = database.run("ROLLBACK");
    }
    return made;
}

}  // namespace

std::span<const char* const> state_migrations() { return kMigrations; }

Result<void> migrate_state(SqliteDatabase& database) {
    BJ_TRY(const SqlValue value, database.value("PRAGMA user_version"));
    const auto version = static_cast<std::size_t>(value.integer());
    if (value.integer() < 0 || version > kMigrations.size()) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("it has version {}, and this program knows only versions up to {}; "
                                "start the program that made it, or a later one",
                                value.integer(), kMigrations.size()));
    }
    for (std::size_t step = version; step < kMigrations.size(); ++step) {
        BJ_TRY_VOID(take_step(database, step));
    }
    return {};
}

}  // namespace belljar::storage
