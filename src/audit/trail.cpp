#include "audit/trail.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace belljar::audit {
namespace {

constexpr Duration kSyncEvery = std::chrono::seconds(1);
constexpr Duration kRetentionEvery = std::chrono::minutes(5);
constexpr auto kTryAgain = std::chrono::seconds(5);

Writer::Bounds bounds_of(const config::AuditSettings& settings) {
    return {.rotate_size = settings.rotate_size, .rotate_age = settings.rotate_age};
}

bool is_empty(const Fd& directory) {
    std::error_code error;
    return std::filesystem::is_empty(fmt::format("/proc/self/fd/{}", directory.get()), error);
}

}  // namespace

Result<std::unique_ptr<Trail>> Trail::prepare(const std::string& path, Options options,
                                              const Log& log) {
    std::error_code error;
    const bool there = std::filesystem::is_directory(path, error);
    if (!there) {
        std::filesystem::create_directories(path, error);
        if (!error) {
            std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
        }
        if (error) {
            return fail(ErrorCode::Unavailable,
                        fmt::format("the directory of the audit trail, {}, cannot be made: {}; "
                                    "choose another with audit.path",
                                    path, error.message()));
        }
    }
    Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.valid()) {
        return fail(system_error(fmt::format("open the directory of the audit trail, {}", path)));
    }
    std::unique_ptr<Trail> trail(new Trail(std::move(directory), std::move(options), log));
    trail->made_ = !there;
    return trail;
}

Trail::Trail(Fd directory, Options options, const Log& log)
    : directory_(std::move(directory)),
      options_(std::move(options)),
      log_(log),
      redaction_(options_.secrets) {}

Trail::~Trail() { stop(); }

Result<void> Trail::give_to(uid_t user, gid_t group) const {
    struct stat status{};
    if (::fstat(directory_.get(), &status) != 0) {
        return fail(system_error("fstat the directory of the audit trail"));
    }
    // Another server that begins now may have made it a moment ago.
    if (!made_ && (status.st_uid != ::geteuid() || !is_empty(directory_))) {
        return {};
    }
    if (::fchown(directory_.get(), user, group) != 0) {
        return fail(system_error("fchown the directory of the audit trail"));
    }
    return {};
}

Result<void> Trail::start() {
    Result<std::unique_ptr<Writer>> writer = Writer::open(directory_, bounds_of(options_.settings));
    if (!writer) {
        return fail(std::move(writer.error()));
    }
    writer_ = std::move(*writer);
    if (!options_.copies.empty()) {
        copies_ = std::make_unique<Copies>(options_.copies, options_.places);
    }
    if (options_.upkeep == Options::Upkeep::Thread) {
        BJ_TRY_VOID(
            write({.kind = "start",
                   .body = {{"program", options_.program}, {"version", options_.version}}}));
        keeper_ = std::thread([this] { look_after(); });
    }
    return {};
}

void Trail::stop() {
    if (!writer_) {
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    changed_.notify_all();
    stop_verifying_ = true;
    for (std::thread* thread : {&keeper_, &verifier_}) {
        if (thread->joinable()) {
            thread->join();
        }
    }
    const bool stays = options_.upkeep == Options::Upkeep::Thread;
    Result<void> ended;
    if (stays) {
        ended = write({.kind = "stop", .body = {{"program", options_.program}}});
    }
    if (ended) {
        ended = writer_->sign(stays ? Duration{} : options_.settings.sign_every);
    }
    if (ended && stays) {
        ended = writer_->sync();
    }
    if (!ended) {
        log_.error("the audit trail could not be ended", {{"reason", ended.error().describe()}});
    }
    copies_.reset();
    writer_.reset();
}

Result<void> Trail::write(const Entry& entry) {
    BJ_TRY(const Writer::Appended appended, writer_->append(entry));
    ++records_;
    bytes_ += appended.line.size();
    if (copies_) {
        copies_->send(appended.line);
    }
    return {};
}

Error Trail::refusal() const {
    return {.code = ErrorCode::Unavailable,
            .message =
                "the audit trail cannot be written, and nothing runs here without a record; "
                "its disk may be full",
            .retry_after = kTryAgain};
}

Result<void> Trail::record(const Entry& entry) {
    Result<void> written = write(entry);
    if (written) {
        return {};
    }
    ++failures_;
    ++unrecorded_;
    if (!failing_.exchange(true)) {
        log_.error("a record of the audit trail could not be written",
                   {{"kind", entry.kind}, {"reason", written.error().describe()}});
    }
    if (options_.settings.on_failure == config::AuditFailure::Count) {
        return {};
    }
    return fail(refusal());
}

Result<void> Trail::admit() {
    const bool stops = options_.settings.on_failure == config::AuditFailure::Stop;
    if (!failing_.load()) {
        if (!stops || writer_->expects_room()) {
            return {};
        }
    }
    // What could not be recorded is told as soon as something can.
    if (!writer_->has_room() ||
        (failing_.load() &&
         !write({.kind = "gap", .body = {{"unrecorded", unrecorded_.load()}}}))) {
        failing_ = true;
        return stops ? fail(refusal()) : Result<void>{};
    }
    if (failing_.exchange(false)) {
        log_.warning("the audit trail can be written again",
                     {{"unrecorded", static_cast<std::int64_t>(unrecorded_.load())}});
        unrecorded_ = 0;
    }
    return {};
}

void Trail::look_after() {
    if (const Result<ErasureReport> finished = finish_erasure(directory_, *writer_); !finished) {
        log_.error("an erasure that was interrupted could not be completed",
                   {{"reason", finished.error().describe()}});
    }
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kSyncEvery, [this] { return closing_; })) {
        lock.unlock();
        keep_up();
        lock.lock();
    }
}

void Trail::keep_up() {
    if (failing_.load()) {
        static_cast<void>(admit());
        return;
    }
    Result<void> done = writer_->sign(options_.settings.sign_every);
    if (done && writer_->is_due_for_rotation()) {
        const Result<std::uint64_t> closed = writer_->rotate();
        done = closed ? Result<void>{} : fail(closed.error());
    }
    if (done) {
        done = writer_->sync();
    }
    if (!done) {
        log_.error("the audit trail could not be signed", {{"reason", done.error().describe()}});
    }
    remove_old();
}

void Trail::remove_old() {
    if (options_.settings.keep == Duration{} || Clock::now() < retention_at_) {
        return;
    }
    retention_at_ = Clock::now() + std::min(kRetentionEvery, options_.settings.keep);
    const Result<std::uint64_t> removed =
        remove_old_files(directory_, *writer_, options_.settings.keep);
    if (!removed) {
        log_.error("old files of the audit trail could not be removed",
                   {{"reason", removed.error().describe()}});
    } else if (*removed > 0) {
        log_.info("old files of the audit trail were removed",
                  {{"files", static_cast<std::int64_t>(*removed)}});
    }
}

Trail::Figures Trail::figures() const {
    Figures figures{.records = records_.load(),
                    .bytes = bytes_.load(),
                    .failures = failures_.load(),
                    .lost_copies = copies_ ? copies_->lost() : 0,
                    .writable = !failing_.load()};
    if (writer_) {
        const Head head = writer_->head();
        figures.last_seq = head.end.seq;
        figures.last_hash = head.end.hash;
        figures.signed_seq = head.signed_seq;
        if (head.signed_at > 0) {
            figures.signed_at = WallTime(std::chrono::seconds(head.signed_at));
        }
        figures.file = head.file;
        figures.key = writer_->keys().id();
    }
    return figures;
}

Trail::Verification Trail::last_verification() const {
    const std::lock_guard lock(mutex_);
    return verification_;
}

void Trail::verify() {
    const std::lock_guard lock(mutex_);
    if (verification_.running || closing_) {
        return;
    }
    if (verifier_.joinable()) {
        verifier_.join();  // it has ended
    }
    verification_.running = true;
    verifier_ = std::thread([this] {
        Result<VerificationReport> report = verify_trail(directory_, {.stop = &stop_verifying_});
        const std::lock_guard inner(mutex_);
        verification_ = {.running = false,
                         .ended = std::chrono::system_clock::now(),
                         .report = std::move(report)};
    });
}

Result<ErasureReport> Trail::erase(const ErasureOrder& order) {
    ErasureOrder clean = order;
    clean.reason = redaction_.clean(order.reason, std::string::npos);
    return erase_records(directory_, *writer_, std::move(clean));
}

}  // namespace belljar::audit
