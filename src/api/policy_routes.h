#pragma once

#include "api/route_group.h"
#include "engine/executor.h"

namespace belljar::api {

// Policy: GET /v1/policy, POST /v1/policy/validate and POST /v1/policy/approvals. What would be
// decided about a run tells POST /v1/policy/preview (run_routes.h).
class PolicyRoutes final : public RouteGroup {
   public:
    explicit PolicyRoutes(engine::Executor& executor) : executor_(executor) {}

    void add_to(OperationTable& table) override;

   private:
    [[nodiscard]] access::HttpResponse show(const access::HttpRequest& request) const;
    Task<access::HttpResponse> validate(Call call);
    [[nodiscard]] access::HttpResponse approve(const access::HttpRequest& request);

    engine::Executor& executor_;
};

}  // namespace belljar::api
