#pragma once

#include "api/route_group.h"
#include "engine/executor.h"
#include "storage/signed_url.h"

namespace belljar::api {

// GET /files/{conversation_id}/{path}: files at addresses that were signed, without a token. Who
// has no valid address learns nothing: the signature is checked before anything else is looked at.
class SignedFileRoute final : public RouteGroup {
   public:
    // The signer outlives this.
    SignedFileRoute(engine::Executor& executor, const storage::UrlSigner& signer)
        : executor_(executor), signer_(signer) {}

    void add_to(OperationTable& table) override;

   private:
    Task<access::HttpResponse> get(Call call);
    // Conflict if it has been used.
    Task<Result<void>> use(storage::UrlSigner::Grant grant);

    engine::Executor& executor_;
    const storage::UrlSigner& signer_;
};

}  // namespace belljar::api
