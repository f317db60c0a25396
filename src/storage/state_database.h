#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/result.h"
#include "storage/data_directory.h"
#include "storage/sqlite.h"
#include "storage/upkeep.h"

namespace belljar::storage {

// What a server knows about runs and requests, in state/state.sqlite3 below the data directory. One
// thread of its own does all of the work: whoever has some leaves it and goes on. What nobody waits
// for rests for a moment, and is written together with what comes in the meantime.
class StateDatabase {
   public:
    // Soon: a crash may lose the last moments of it. Now: it is there once the job is done.
    enum class Durability { Soon, Now };

    struct Job {
        Durability durability = Durability::Soon;
        // On the database's thread, in a transaction. An error undoes what this job did.
        std::function<Result<void>(SqliteDatabase&)> work{};
        // On the database's thread, once it is written; may be missing.
        std::function<void(Result<void>)> done{};
        std::size_t size = 0;  // of what it holds in memory, roughly
        // What it tells of, if a later job tells all of it anew: one of the same subject takes the
        // place of one that still waits. Not with `done`.
        std::string subject{};
    };

    struct Options {
        std::size_t queue = 10'000;
        std::size_t queue_bytes = std::size_t{64} * 1024 * 1024;
        Duration rest = std::chrono::milliseconds(20);  // of what nobody waits for
        Duration upkeep_pause = std::chrono::minutes(5);
        // Removes a bounded part of what is too old; at the start and then every now and then, or
        // soon again where there is more.
        std::function<Result<Upkeep>(SqliteDatabase&)> upkeep{};
    };

    // Makes the directory. Nothing is opened yet, since that is for the account to do.
    static Result<std::unique_ptr<StateDatabase>> prepare(const DataDirectory& data,
                                                          Options options, const Log& log);
    ~StateDatabase();
    StateDatabase(const StateDatabase&) = delete;
    StateDatabase& operator=(const StateDatabase&) = delete;

    // Gives the directory to the account that the server will run as. Denied if it is another's.
    [[nodiscard]] Result<void> give_to(uid_t user, gid_t group) const;

    // Opens the file, with the rights that the process has now, and brings it to this program's
    // version. The error says which file it is and what can be done; nothing in it was changed.
    // `first` is done before anything else, in a transaction.
    Result<void> start(std::function<Result<void>(SqliteDatabase&)> first = {});
    // Writes out what is left and ends the thread. Does nothing if it was not started.
    void stop();

    // False if there is no room for more, or it is not open. Any thread.
    bool submit(Job job);

   private:
    StateDatabase(Fd directory, std::string path, Options options, const Log& log);

    // With the lock. False if none of the same subject waits.
    bool replace(Job& job);
    void serve(std::function<Result<void>(SqliteDatabase&)> first);
    [[nodiscard]] Result<SqliteDatabase> open_here() const;
    [[nodiscard]] Error explain(const Error& error) const;
    // Empty if there is nothing to do but upkeep; nothing if this is the end.
    std::optional<std::vector<Job>> next_batch();
    void write(SqliteDatabase& database, std::vector<Job>& batch);
    void keep_up(SqliteDatabase& database);
    [[nodiscard]] Result<Upkeep> tidy(SqliteDatabase& database) const;

    Fd directory_;
    std::string path_;  // for messages
    Options options_;
    const Log& log_;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> queue_;
    std::uint64_t taken_ = 0;  // jobs that have left the queue, which tells where one stands in it
    std::unordered_map<std::string, std::uint64_t> subjects_;  // by number, from the first job on
    std::size_t queued_bytes_ = 0;
    bool urgent_ = false;  // somebody waits for something in the queue, or it has become long
    std::uint64_t dropped_ = 0;
    bool open_ = false;
    bool closing_ = false;
    std::optional<Result<void>> started_;
    TimePoint upkeep_at_{};
    std::thread thread_;
};

}  // namespace belljar::storage
