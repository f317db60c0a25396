#pragma once

#include "api/route_group.h"
#include "api/watch_route.h"
#include "engine/executor.h"

namespace belljar::api {

// Runs: POST /v1/runs (with live output if asked for), POST /v1/runs:batch, POST /execute, and
// GET /mcp/events.
class RunRoutes final : public RouteGroup {
   public:
    RunRoutes(engine::Executor& executor, engine::RunFeed* feed)
        : executor_(executor), watch_(feed) {}

    void add_to(OperationTable& table) override;

   private:
    Task<access::HttpResponse> execute(Call call);
    Task<access::HttpResponse> execute_batch(Call call);
    Task<access::HttpResponse> stream_run(execution::RunRequest run,
                                          engine::CancellationPtr cancellation,
                                          access::ResponseStreamPtr stream);

    engine::Executor& executor_;
    WatchRoute watch_;
};

}  // namespace belljar::api
