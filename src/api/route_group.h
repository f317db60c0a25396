#pragma once

#include "api/operation_table.h"

namespace belljar::api {

// Operations that belong together, and what answers them. Lives as long as the table.
class RouteGroup {
   public:
    RouteGroup() = default;
    RouteGroup(const RouteGroup&) = delete;
    RouteGroup& operator=(const RouteGroup&) = delete;
    virtual ~RouteGroup() = default;

    virtual void add_to(OperationTable& table) = 0;
};

}  // namespace belljar::api
