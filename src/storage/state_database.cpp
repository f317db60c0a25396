#include "storage/state_database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "base/beneath.h"
#include "storage/state_migrations.h"

namespace belljar::storage {
namespace {

constexpr const char* kDirectory = "state";
constexpr const char* kFile = "state.sqlite3";
constexpr std::size_t kLargestBatch = 256;                        // jobs in one transaction
constexpr Duration kUpkeepRest = std::chrono::milliseconds(100);  // of upkeep that has more to do
constexpr std::int64_t kVacuumed = 1000;  // pages that are given back at a time

Result<void> check_integrity(SqliteDatabase& database) {
    BJ_TRY(const SqlValue verdict, database.value("PRAGMA quick_check(1)"));
    return verdict.text() == "ok" ? Result<void>{}
                                  : fail(Error{.code = ErrorCode::Unavailable,
                                               .message = "the state database is damaged",
                                               .where = verdict.text()});
}

// Whether the last program that used it said goodbye.
Result<bool> ended_cleanly(SqliteDatabase& database) {
    BJ_TRY(const SqlValue tables, database.value("SELECT count(*) FROM sqlite_master"));
    if (tables.integer() == 0) {
        return true;
    }
    BJ_TRY(const SqlValue mark, database.value("SELECT value FROM about WHERE name = 'stopped'"));
    return mark.text() == "cleanly";
}

Result<void> mark_end(SqliteDatabase& database, const std::string& how) {
    BJ_TRY_VOID(database.change("INSERT OR REPLACE INTO about VALUES ('stopped', ?1)", {how}));
    return {};
}

// What a job does, it does as a whole or not at all.
Result<void> do_job(SqliteDatabase& database, const StateDatabase::Job& job) {
    BJ_TRY_VOID(database.change("SAVEPOINT job"));
    Result<void> result = job.work(database);
    if (!database.in_transaction()) {
        return result ? fail(ErrorCode::Internal, "the transaction was lost") : result;
    }
    if (!result) {
        BJ_TRY_VOID(database.change("ROLLBACK TO job"));
    }
    BJ_TRY_VOID(database.change("RELEASE job"));
    return result;
}

Result<void> in_transaction(SqliteDatabase& database,
                            const std::function<Result<void>(SqliteDatabase&)>& work) {
    BJ_TRY_VOID(database.run("BEGIN IMMEDIATE"));
    Result<void> done = work(database);
    if (done) {
        done = database.run("COMMIT");
    }
    if (!done && database.in_transaction()) {
        [[maybe_unused]] const Result<void> undone = database.run("ROLLBACK");
    }
    return done;
}

}  // namespace

StateDatabase::StateDatabase(Fd directory, std::string path, Options options, const Log& log)
    : directory_(std::move(directory)),
      path_(std::move(path)),
      options_(std::move(options)),
      log_(log) {}

StateDatabase::~StateDatabase() { stop(); }

Result<std::unique_ptr<StateDatabase>> StateDatabase::prepare(const DataDirectory& data,
                                                              Options options, const Log& log) {
    if (::mkdirat(data.fd().get(), kDirectory, 0700) != 0 && errno != EEXIST) {
        return fail(system_error("mkdir state"));
    }
    BJ_TRY(Fd directory, open_beneath(data.fd(), kDirectory, O_RDONLY | O_DIRECTORY));
    return std::unique_ptr<StateDatabase>(new StateDatabase(
        std::move(directory), fmt::format("{}/{}/{}", data.path(), kDirectory, kFile),
        std::move(options), log));
}

// What is in a directory of ours is ours, too; the files in one that is the account's already are
// not touched with our rights.
Result<void> StateDatabase::give_to(uid_t user, gid_t group) const {
    struct stat status{};
    if (::fstat(directory_.get(), &status) != 0) {
        return fail(system_error("fstat state"));
    }
    if (status.st_uid == user) {
        return {};
    }
    if (status.st_uid != ::geteuid()) {
        return fail(ErrorCode::Denied,
                    fmt::format("{} belongs to another user than the server will run as; give its "
                                "directory to that user or move it away",
                                path_));
    }
    for (const std::string_view ending : {"", "-wal", "-shm"}) {
        const std::string name = kFile + std::string(ending);
        if (::fchownat(directory_.get(), name.c_str(), user, group, AT_SYMLINK_NOFOLLOW) != 0 &&
            errno != ENOENT) {
            return fail(system_error("fchownat state"));
        }
    }
    return ::fchown(directory_.get(), user, group) == 0 ? Result<void>{}
                                                        : fail(system_error("fchown state"));
}

Result<void> StateDatabase::start(std::function<Result<void>(SqliteDatabase&)> first) {
    thread_ = std::thread([this, first = std::move(first)]() mutable { serve(std::move(first)); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return started_.has_value(); });
    return *started_;
}

void StateDatabase::stop() {
    {
        const std::scoped_lock lock(mutex_);
        open_ = false;
        closing_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) {
        thread_.join();
    }
}

bool StateDatabase::submit(Job job) {
    const bool awaited = job.done || job.durability == Durability::Now;
    {
        const std::scoped_lock lock(mutex_);
        const bool room =
            queue_.size() < options_.queue && queued_bytes_ + job.size <= options_.queue_bytes;
        if (!open_ || !room) {
            dropped_ += open_ ? 1 : 0;
            return false;
        }
        if (replace(job)) {
            return true;
        }
        queued_bytes_ += job.size;
        queue_.push_back(std::move(job));
        const bool many =
            queue_.size() >= kLargestBatch || queued_bytes_ >= options_.queue_bytes / 4;
        urgent_ = urgent_ || awaited || many;
        if (!urgent_ && queue_.size() > 1) {
            return true;  // its thread knows that there is something
        }
    }
    changed_.notify_all();
    return true;
}

bool StateDatabase::replace(Job& job) {
    if (job.subject.empty()) {
        return false;
    }
    BJ_ASSERT(!job.done);
    const auto [place, fresh] = subjects_.try_emplace(job.subject, taken_ + queue_.size());
    if (fresh) {
        return false;
    }
    Job& waiting = queue_[place->second - taken_];
    queued_bytes_ += job.size - waiting.size;
    waiting = std::move(job);
    return true;
}

Error StateDatabase::explain(const Error& error) const {
    Error explained = error;
    const bool damaged = error.code == ErrorCode::Unavailable;
    explained.message = fmt::format(
        "{} cannot be used: {}{}", path_, error.message,
        damaged ? "; nothing in it was changed. Restore it from a backup, or move it and the files "
                  "whose names begin with its name away: a new one is made then, and only what was "
                  "remembered of runs and requests is lost, no file of a conversation"
                : "");
    return explained;
}

Result<SqliteDatabase> StateDatabase::open_here() const {
    // SQLite would make it readable for others.
    const Result<Fd> file = open_beneath(directory_, kFile, O_RDWR | O_CREAT, 0600);
    struct stat status{};
    if (!file || ::fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return fail(Error{.code = ErrorCode::Unavailable,
                          .message = "it is no regular file, or not the server's own",
                          .where = file ? "" : file.error().describe()});
    }
    BJ_TRY(SqliteDatabase database,
           SqliteDatabase::open(fmt::format("/proc/self/fd/{}/{}", directory_.get(), kFile)));
    // The first look at the file: one that is none of ours says so before anything is written.
    BJ_TRY(const bool clean, ended_cleanly(database));
    if (!clean) {
        BJ_TRY_VOID(check_integrity(database));
    }
    BJ_TRY_VOID(database.run(
        "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;"
        "PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON; PRAGMA synchronous = FULL;"
        "PRAGMA journal_size_limit = 16777216"));
    BJ_TRY_VOID(migrate_state(database));
    BJ_TRY_VOID(mark_end(database, "not yet"));
    return database;
}

void StateDatabase::serve(std::function<Result<void>(SqliteDatabase&)> first) {
    Result<SqliteDatabase> database = open_here();
    Result<void> begun = database ? Result<void>{} : fail(explain(database.error()));
    if (database && first) {
        begun = in_transaction(*database, first);
    }
    {
        const std::scoped_lock lock(mutex_);
        open_ = begun.has_value();
        started_ = begun;
    }
    changed_.notify_all();
    if (!begun) {
        return;
    }
    while (std::optional<std::vector<Job>> batch = next_batch()) {
        if (!batch->empty()) {
            write(*database, *batch);
        }
        keep_up(*database);
    }
    [[maybe_unused]] const Result<void> full = database->run("PRAGMA synchronous = FULL");
    Result<void> marked = mark_end(*database, "cleanly");
    if (marked) {
        marked = database->run("PRAGMA wal_checkpoint(TRUNCATE)");
    }
    if (!marked) {
        log_.error("the state database could not be closed",
                   {{"reason", marked.error().describe()}});
    }
}

std::optional<std::vector<StateDatabase::Job>> StateDatabase::next_batch() {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, upkeep_at_, [this] { return closing_ || !queue_.empty(); });
    if (closing_ && queue_.empty()) {
        return std::nullopt;
    }
    if (!queue_.empty()) {
        changed_.wait_for(lock, options_.rest, [this] { return closing_ || urgent_; });
    }
    std::vector<Job> batch;
    while (!queue_.empty() && batch.size() < kLargestBatch) {
        queued_bytes_ -= queue_.front().size;
        subjects_.erase(queue_.front().subject);
        batch.push_back(std::move(queue_.front()));
        queue_.pop_front();
        ++taken_;
    }
    urgent_ = !queue_.empty();
    if (const std::uint64_t dropped = std::exchange(dropped_, 0); dropped > 0) {
        log_.error("the state database is too slow: records are lost",
                   {{"records", static_cast<std::int64_t>(dropped)}});
    }
    return batch;
}

void StateDatabase::write(SqliteDatabase& database, std::vector<Job>& batch) {
    const bool now = std::ranges::any_of(
        batch, [](const Job& job) { return job.durability == Durability::Now; });
    Result<void> written = database.run(now ? "PRAGMA synchronous = FULL; BEGIN IMMEDIATE"
                                            : "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE");
    std::vector<Result<void>> results;
    for (const Job& job : batch) {
        const bool possible = written && database.in_transaction();
        results.push_back(possible ? do_job(database, job) : Result<void>{});
        if (possible && !database.in_transaction()) {
            written = results.back() ? fail(ErrorCode::Internal, "the transaction was lost")
                                     : results.back();
        }
    }
    if (written) {
        written = database.run("COMMIT");
    }
    if (!written && database.in_transaction()) {
        [[maybe_unused]] const Result<void> undone = database.run("ROLLBACK");
    }
    if (!written) {
        log_.error("the state database could not be written",
                   {{"reason", written.error().describe()}});
    }
    for (std::size_t index = 0; index < batch.size(); ++index) {
        if (batch[index].done) {
            batch[index].done(written ? results[index] : written);
        }
    }
}

void StateDatabase::keep_up(SqliteDatabase& database) {
    if (Clock::now() < upkeep_at_) {
        return;
    }
    const Result<Upkeep> left = tidy(database);
    if (!left) {
        log_.warning("the state database could not be tidied up",
                     {{"reason", left.error().describe()}});
    }
    const bool more = left && *left == Upkeep::More;
    // From its end on, so that there is time for jobs however long it takes.
    upkeep_at_ = Clock::now() +
                 (more ? std::min(kUpkeepRest, options_.upkeep_pause) : options_.upkeep_pause);
}

Result<Upkeep> StateDatabase::tidy(SqliteDatabase& database) const {
    Upkeep left = Upkeep::Nothing;
    if (options_.upkeep) {
        BJ_TRY_VOID(in_transaction(database, [&](SqliteDatabase& same) -> Result<void> {
            BJ_TRY(left, options_.upkeep(same));
            return {};
        }));
    }
    BJ_TRY_VOID(database.run(fmt::format("PRAGMA incremental_vacuum({})", kVacuumed)));
    BJ_TRY(const SqlValue free, database.value("PRAGMA freelist_count"));
    return free.integer() >= kVacuumed ? Upkeep::More : left;
}

}  // namespace belljar::storage
