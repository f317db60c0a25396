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

// What each principal has in repeat_keys: so that it can be bounded, and nobody has to add it up.
constexpr const char* kRepeatTallies = R"sql(
ALTER TABLE repeat_keys ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE repeat_keys SET bytes = length(CAST(headers AS BLOB)) + length(CAST(body AS BLOB))
    WHERE body IS NOT NULL;
CREATE INDEX repeat_keys_with_answer ON repeat_keys (principal, expires) WHERE body IS NOT NULL;
CREATE TABLE repeat_tallies (
    principal TEXT PRIMARY KEY,
    keys INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO repeat_tallies SELECT principal, count(*), sum(bytes) FROM repeat_keys
    GROUP BY principal;
CREATE TRIGGER repeat_key_comes AFTER INSERT ON repeat_keys BEGIN
    INSERT OR IGNORE INTO repeat_tallies VALUES (NEW.principal, 0, 0);
    UPDATE repeat_tallies SET keys = keys + 1, bytes = bytes + NEW.bytes
        WHERE principal = NEW.principal;
END;
CREATE TRIGGER repeat_key_changes AFTER UPDATE OF bytes ON repeat_keys BEGIN
    UPDATE repeat_tallies SET bytes = bytes + NEW.bytes - OLD.bytes
        WHERE principal = NEW.principal;
END;
CREATE TRIGGER repeat_key_goes AFTER DELETE ON repeat_keys BEGIN
    UPDATE repeat_tallies SET keys = keys - 1, bytes = bytes - OLD.bytes
        WHERE principal = OLD.principal;
    DELETE FROM repeat_tallies WHERE principal = OLD.principal AND keys = 0;
END;
)sql";

constexpr std::array<const char*, 5> kMigrations{kRuns, kRequests, kUsage, kOldRuns,
                                                 kRepeatTallies};

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
