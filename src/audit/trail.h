#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "audit/copies.h"
#include "audit/entries.h"
#include "audit/redaction.h"
#include "audit/upkeep.h"
#include "audit/verification.h"
#include "audit/writer.h"
#include "base/log.h"
#include "base/result.h"
#include "config/settings.h"

namespace belljar::audit {

// The audit trail of one process: writes records as the settings say, and looks after the files
// from a thread of its own, which signs the end, brings it to the disk and removes what is too old.
// record(), admit() and the figures: any thread; they never wait for that one.
class Trail {
   public:
    using WallTime = std::chrono::system_clock::time_point;

    struct Options {
        config::AuditSettings settings{};
        std::vector<std::string> secrets{};  // that never appear
        std::string program{};               // "serve", "mcp", "run"
        std::string version{};
        std::vector<CopyTarget> copies{};
        Copies::Places places{};
        // A short-lived process has no thread: it signs at its end if a signature is due.
        enum class Upkeep { Thread, None } upkeep = Upkeep::Thread;
    };

    // Makes the directory, private to its owner, if it is not there. While privileged.
    static Result<std::unique_ptr<Trail>> prepare(const std::string& path, Options options,
                                                  const Log& log);
    ~Trail();
    Trail(const Trail&) = delete;
    Trail& operator=(const Trail&) = delete;

    // Gives the directory to the account that the process will run as, if prepare() made it or
    // nothing was ever written there.
    [[nodiscard]] Result<void> give_to(uid_t user, gid_t group) const;
    // With the rights that the process has from now on. The first record is that of the start.
    Result<void> start();
    // The last record is that of the end, signed. Does nothing if it was not started.
    void stop();

    // An error only where the settings say that nothing goes on without its record.
    [[nodiscard]] Result<void> record(const Entry& entry);
    // Whether something new may begin: refuses while records cannot be written, if that stops runs.
    [[nodiscard]] Result<void> admit();
    [[nodiscard]] const Redaction& redaction() const { return redaction_; }
    [[nodiscard]] const Fd& directory() const { return directory_; }

    struct Figures {
        std::uint64_t records = 0;
        std::uint64_t bytes = 0;
        std::uint64_t failures = 0;  // records that could not be written
        std::uint64_t lost_copies = 0;
        bool writable = true;
        std::uint64_t last_seq = 0;
        std::string last_hash{};
        std::uint64_t signed_seq = 0;
        std::optional<WallTime> signed_at{};
        std::uint64_t file = 0;
        std::string key{};  // its id
    };
    [[nodiscard]] Figures figures() const;

    // Of this process.
    struct Verification {
        bool running = false;
        std::optional<WallTime> ended{};
        std::optional<Result<VerificationReport>> report{};
    };
    [[nodiscard]] Verification last_verification() const;
    // Begins one, unless one is under way.
    void verify();

    // Blocks; never on the I/O thread.
    [[nodiscard]] Result<ErasureReport> erase(const ErasureOrder& order);

   private:
    Trail(Fd directory, Options options, const Log& log);

    void look_after();
    void keep_up();
    void remove_old();
    [[nodiscard]] Result<void> write(const Entry& entry);
    [[nodiscard]] Error refusal() const;

    Fd directory_;
    bool made_ = false;
    Options options_;
    Log log_;
    Redaction redaction_;
    std::unique_ptr<Writer> writer_;
    std::unique_ptr<Copies> copies_;
    std::atomic<std::uint64_t> records_{0};
    std::atomic<std::uint64_t> bytes_{0};
    std::atomic<std::uint64_t> failures_{0};
    std::atomic<std::uint64_t> unrecorded_{0};  // since writing began to fail
    std::atomic<bool> failing_{false};
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool closing_ = false;
    std::thread keeper_;
    std::atomic<bool> stop_verifying_{false};
    Verification verification_;
    std::thread verifier_;
    TimePoint retention_at_{};
};

}  // namespace belljar::audit
