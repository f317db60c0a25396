#pragma once

#include "api/operation.h"
#include "engine/executor.h"
#include "engine/run_feed.h"

namespace belljar::api {

class RunTeller;

// GET /v1/runs/{run_id}/events: one run of the caller's as server-sent events, from now until its
// end; see RunEvents for what they are. Borrows the feed; there may be none.
class RunFollower {
   public:
    RunFollower(engine::Executor& executor, engine::RunFeed* feed)
        : executor_(executor), feed_(feed) {}

    // Returns when the run has ended, the caller has gone, or reads nothing.
    Task<access::HttpResponse> follow(Call call);

   private:
    Task<void> wait_for_end(const Call* call, RunTeller* teller);
    Task<Result<execution::RunRecord>> await_record(std::string principal, std::string id);

    engine::Executor& executor_;
    engine::RunFeed* feed_;
};

}  // namespace belljar::api
