#pragma once

#include "access/token_book.h"
#include "api/route_group.h"
#include "base/fd.h"
#include "engine/file_threads.h"

namespace belljar::api {

// The tokens of callers, for administrators: what `belljar token` does, by HTTP. A token is shown
// once, in the answer to its creation. Borrows the folder of the tokens.
class TokenRoutes final : public RouteGroup {
   public:
    explicit TokenRoutes(const Fd& folder) : folder_(folder) {}

    void add_to(OperationTable& table) override;

   private:
    void add_changes(OperationTable& table);
    Task<access::HttpResponse> list();
    Task<access::HttpResponse> show(Call call);
    Task<access::HttpResponse> create(Call call);
    Task<access::HttpResponse> change(Call call);
    Task<access::HttpResponse> revoke(Call call);

    const Fd& folder_;
    engine::FileThreads threads_{1};
};

}  // namespace belljar::api
