#pragma once

#include "api/route_group.h"

namespace belljar::api {

// What is described here and answered elsewhere: MCP by src/mcp, and by the gate what clients ask
// to learn who gives out tokens.
class DescribedRoutes final : public RouteGroup {
   public:
    void add_to(OperationTable& table) override;
};

}  // namespace belljar::api
