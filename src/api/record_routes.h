#pragma once

#include "api/route_group.h"
#include "api/run_follower.h"
#include "engine/executor.h"
#include "engine/run_feed.h"

namespace belljar::api {

// What is remembered of runs: GET /v1/runs, GET /v1/runs/{run_id}, its events, its end by POST
// /v1/runs/{run_id}/cancel, and GET /v1/audit for those who may see everybody's.
class RecordRoutes final : public RouteGroup {
   public:
    RecordRoutes(engine::Executor& executor, engine::RunFeed* feed)
        : executor_(executor), follower_(executor, feed) {}

    void add_to(OperationTable& table) override;

   private:
    void add_audit(OperationTable& table);

    Task<access::HttpResponse> list(Call call);
    Task<access::HttpResponse> audit(Call call);
    Task<access::HttpResponse> show(Call call);
    Task<access::HttpResponse> cancel(Call call);

    engine::Executor& executor_;
    RunFollower follower_;
};

}  // namespace belljar::api
