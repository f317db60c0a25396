#pragma once

#include <cstdint>

#include "audit/trail.h"
#include "base/clock.h"
#include "engine/overseer.h"

namespace belljar::engine {

// Writes what happens into the audit trail: runs before their answers leave, events and decisions
// as they come. Borrows the trail.
class Recorder final : public Overseer {
   public:
    explicit Recorder(audit::Trail& trail) : trail_(trail) {}

    [[nodiscard]] Result<void> admit(const execution::RunRequest& request) override;
    [[nodiscard]] Result<void> record(const execution::RunAccount& account,
                                      const Result<execution::RunResult>& result) override;
    void notice(const execution::SecurityEvent& event) override;

    void decided(const audit::Decision& decision);
    // A request that was turned away. Anybody can cause these, so that no more than some of each
    // minute are recorded; the next record says how many were not.
    void refused(audit::Decision decision);

   private:
    audit::Trail& trail_;
    TimePoint minute_{};
    std::uint64_t refused_ = 0;   // in this minute
    std::uint64_t left_out_ = 0;  // since the last record of one
};

}  // namespace belljar::engine
