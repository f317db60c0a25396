#pragma once

#include "api/route_group.h"
#include "engine/executor.h"

namespace belljar::api {

// What other services have at the same place: GET / tells a program what is here and gives a
// browser the web interface; the paths that install packages are described, which MCP's tools
// answer.
class DialectRoutes final : public RouteGroup {
   public:
    explicit DialectRoutes(engine::Executor& executor) : executor_(executor) {}

    void add_to(OperationTable& table) override;

   private:
    Task<access::HttpResponse> introduce(Call call);

    engine::Executor& executor_;
};

}  // namespace belljar::api
