#pragma once

#include "api/route_group.h"
#include "engine/executor.h"

namespace belljar::api {

// What operators see and do with the work of everybody: runs, sessions, draining, quotas.
class AdminRoutes final : public RouteGroup {
   public:
    explicit AdminRoutes(engine::Executor& executor) : executor_(executor) {}

    void add_to(OperationTable& table) override;

   private:
    void add_schemas(OperationTable& table);
    void add_runs(OperationTable& table);
    void add_sessions(OperationTable& table);
    void add_drain(OperationTable& table);
    void add_quotas(OperationTable& table);

    Task<access::HttpResponse> list_runs(Call call);
    Task<access::HttpResponse> kill_run(Call call);
    Task<access::HttpResponse> list_sessions(Call call);
    Task<access::HttpResponse> end_session(Call call);
    Task<access::HttpResponse> show_drain();
    Task<access::HttpResponse> set_drain(Call call);
    Task<access::HttpResponse> show_quota(Call call);
    Task<access::HttpResponse> show_usage(Call call);
    [[nodiscard]] access::HttpResponse drain_answer() const;

    engine::Executor& executor_;
};

}  // namespace belljar::api
