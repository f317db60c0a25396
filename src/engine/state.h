#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "execution/state_record.h"

namespace belljar::engine {

// What a server has to remember beyond a restart, besides runs and files. This class remembers
// nothing and lets nothing through that depends on it: Unsupported. On the I/O thread.
class State {
   public:
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    virtual ~State() = default;

    // Keys are kept for 24 hours. One that was in progress when the server ended is free again.
    // Known again after a crash once this has answered.
    virtual Task<Result<execution::RepeatClaim>> claim(execution::RepeatKey key);
    virtual Task<Result<void>> settle(execution::RepeatKey key, execution::StoredAnswer answer);
    // As if it had never been claimed: for a request that could not be answered.
    virtual Task<Result<void>> release(execution::RepeatKey key);

    // Conflict if it was used before; who is answered without an error is the only one. The mark is
    // forgotten after `expires`, so whatever it stands for must be void then; `execution::kNever`
    // keeps it.
    virtual Task<Result<void>> use_once(std::string mark, execution::WallTime expires);

    // Counted by the engine: each run as it starts, its CPU time at its end.
    [[nodiscard]] virtual execution::DailyUsage used_today(const std::string& principal) const;
    virtual Task<Result<std::vector<execution::DailyUsage>>> usage(execution::UsageQuery query);
};

}  // namespace belljar::engine
