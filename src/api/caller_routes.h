#pragma once

#include "api/route_group.h"
#include "engine/executor.h"

namespace belljar::api {

// Who asks, for programs that show only what their user may do.
class CallerRoutes final : public RouteGroup {
   public:
    explicit CallerRoutes(engine::Executor& executor) : executor_(executor) {}

    void add_to(OperationTable& table) override;

   private:
    [[nodiscard]] access::HttpResponse describe(const access::HttpRequest& request) const;

    engine::Executor& executor_;
};

}  // namespace belljar::api
