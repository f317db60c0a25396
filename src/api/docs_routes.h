#pragma once

#include "api/route_group.h"

namespace belljar::api {

// /docs: a page that shows /openapi.json and lets its operations be tried. Out of the binary, with
// nothing from elsewhere; without a token, as it holds nothing that is not in the source.
class DocsRoutes final : public RouteGroup {
   public:
    void add_to(OperationTable& table) override;
};

}  // namespace belljar::api
