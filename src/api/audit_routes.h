#pragma once

#include <string>

#include "api/route_group.h"
#include "audit/trail.h"
#include "engine/file_threads.h"

namespace belljar::api {

// The audit trail, for those who may see what everybody does: GET /v1/audit/records, .../chain,
// .../verification and .../key; POST /v1/audit/verification, and /v1/audit/erasures for
// administrators. Borrows the trail.
class AuditRoutes final : public RouteGroup {
   public:
    explicit AuditRoutes(audit::Trail& trail) : trail_(trail) {}

    void add_to(OperationTable& table) override;

   private:
    void add_records(OperationTable& table);
    void add_chain(OperationTable& table);
    void add_erasures(OperationTable& table);

    Task<access::HttpResponse> list(Call call);
    Task<access::HttpResponse> chain();
    Task<access::HttpResponse> key();
    Task<access::HttpResponse> verification();
    Task<access::HttpResponse> verify();
    Task<access::HttpResponse> erase(Call call);

    audit::Trail& trail_;
    engine::FileThreads threads_{1};
};

// Lines of GET /metrics.
[[nodiscard]] std::string audit_figures(const audit::Trail& trail);

}  // namespace belljar::api
