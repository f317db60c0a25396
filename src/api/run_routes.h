#pragma once

#include "api/route_group.h"
#include "api/watch_route.h"
#include "engine/executor.h"

namespace belljar::api {

// Running code: POST /v1/runs (at once, with live output, or in the background), POST
// /v1/runs:batch, POST /v1/policy/preview, POST /execute, and GET /mcp/events.
class RunRoutes final : public RouteGroup {
   public:
    RunRoutes(engine::Executor& executor, engine::RunFeed* feed)
        : executor_(executor), watch_(feed) {}

    void add_to(OperationTable& table) override;

   private:
    void add_create(OperationTable& table);
    void add_others(OperationTable& table);

    Task<access::HttpResponse> create(Call call);
    Task<access::HttpResponse> execute(Call call);
    Task<access::HttpResponse> execute_batch(Call call);
    Task<access::HttpResponse> preview(Call call);
    Task<access::HttpResponse> start(execution::RunRequest run);
    Task<access::HttpResponse> finish(execution::RunRequest run,
                                      engine::CancellationPtr cancellation);
    Task<access::HttpResponse> stream_run(execution::RunRequest run,
                                          engine::CancellationPtr cancellation,
                                          access::ResponseStreamPtr stream);

    engine::Executor& executor_;
    WatchRoute watch_;
};

}  // namespace belljar::api
