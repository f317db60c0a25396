#pragma once

#include "api/route_group.h"
#include "engine/executor.h"

namespace belljar::api {

// Sessions: POST and GET /v1/sessions, GET and DELETE /v1/sessions/{session_id}, POST
// /v1/sessions/{session_id}/undo, fork and reset, GET /v1/sessions/{session_id}/diff. Cells are
// runs: POST /v1/runs with "session" or "session_id".
class SessionRoutes final : public RouteGroup {
   public:
    explicit SessionRoutes(engine::Executor& executor) : executor_(executor) {}

    void add_to(OperationTable& table) override;

   private:
    void add_actions(OperationTable& table);

    Task<access::HttpResponse> begin(Call call);
    Task<access::HttpResponse> list(Call call);
    Task<access::HttpResponse> show(Call call);
    Task<access::HttpResponse> end(Call call);
    Task<access::HttpResponse> act(Call call, execution::SessionAction action);
    Task<access::HttpResponse> compare(Call call);
    Task<access::HttpResponse> obey(execution::SessionOrder order);
    [[nodiscard]] access::HttpResponse find(const std::string& principal,
                                            const std::string& session_id) const;

    engine::Executor& executor_;
};

}  // namespace belljar::api
