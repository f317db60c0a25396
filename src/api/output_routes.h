#pragma once

#include "api/route_group.h"
#include "storage/output_store.h"

namespace belljar::api {

// The whole output of runs whose result could hold only a part of it:
//   GET /v1/runs/{run_id}/output           what is kept, as JSON
//   GET /v1/runs/{run_id}/output/stdout    the bytes, or a range of them
// To its owner alone. Borrows the store; there may be none.
class OutputRoutes final : public RouteGroup {
   public:
    explicit OutputRoutes(const storage::OutputStore* store) : store_(store) {}

    void add_to(OperationTable& table) override;

   private:
    [[nodiscard]] access::HttpResponse list(const storage::OutputOwner& owner) const;
    [[nodiscard]] access::HttpResponse send(const access::HttpRequest& request,
                                            const storage::OutputOwner& owner,
                                            execution::OutputStream stream) const;

    const storage::OutputStore* store_;
};

}  // namespace belljar::api
