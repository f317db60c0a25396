#pragma once

#include <optional>
#include <string_view>

#include "access/http_message.h"
#include "storage/output_store.h"

namespace belljar::api {

// The whole output of runs whose result could hold only a part of it:
//   GET /v1/runs/{execution_id}/output           what is kept, as JSON
//   GET /v1/runs/{execution_id}/output/stdout    the bytes, or a range of them
// To its owner alone. Borrows the store; there may be none.
class OutputRoutes {
   public:
    explicit OutputRoutes(const storage::OutputStore* store) : store_(store) {}

    // Nothing if the path is not one of these.
    [[nodiscard]] std::optional<access::HttpResponse> answer(
        const access::HttpRequest& request) const;

   private:
    [[nodiscard]] access::HttpResponse list(const storage::OutputOwner& owner) const;
    [[nodiscard]] access::HttpResponse send(const access::HttpRequest& request,
                                            const storage::OutputOwner& owner,
                                            execution::OutputStream stream) const;

    const storage::OutputStore* store_;
};

}  // namespace belljar::api
