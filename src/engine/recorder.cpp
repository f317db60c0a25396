#include "engine/recorder.h"

namespace belljar::engine {

Result<void> Recorder::admit(const execution::RunRequest& /*request*/) { return trail_.admit(); }

Result<void> Recorder::record(const execution::RunAccount& account,
                              const Result<execution::RunResult>& result) {
    return trail_.record(audit::entry_of(account, result, trail_.redaction()));
}

// The trail itself says in the log and in its figures what it could not write.
void Recorder::notice(const execution::SecurityEvent& event) {
    static_cast<void>(trail_.record(audit::entry_of(event, trail_.redaction())));
}

void Recorder::decided(const audit::Decision& decision) {
    static_cast<void>(trail_.record(audit::entry_of(decision, trail_.redaction())));
}

void Recorder::refused(audit::Decision decision) {
    constexpr std::uint64_t kMostEachMinute = 120;
    if (const TimePoint now = Clock::now(); now - minute_ >= std::chrono::minutes(1)) {
        minute_ = now;
        refused_ = 0;
    }
    if (++refused_ > kMostEachMinute) {
        ++left_out_;
        return;
    }
    decision.left_out = std::exchange(left_out_, 0);
    decided(decision);
}

}  // namespace belljar::engine
