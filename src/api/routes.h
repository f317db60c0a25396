#pragma once

#include <functional>

#include "access/http_message.h"
#include "api/output_routes.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "engine/executor.h"

namespace belljar::api {

// The REST surface. Borrows the executor; used on the I/O thread only.
class Routes {
   public:
    // `is_ready` says whether work is accepted; `outputs` outlives this, if there is one.
    Routes(engine::Executor& executor, std::function<bool()> is_ready,
           const storage::OutputStore* outputs = nullptr)
        : executor_(executor), is_ready_(std::move(is_ready)), outputs_(outputs) {}

    // Whether this path is answered without a token.
    [[nodiscard]] static bool is_public(const access::HttpRequest& request);

    Task<access::HttpResponse> handle(access::HttpRequest request,
                                      engine::CancellationPtr cancellation);

   private:
    Task<access::HttpResponse> execute(access::HttpRequest request,
                                       engine::CancellationPtr cancellation);
    Task<access::HttpResponse> runners();
    [[nodiscard]] access::HttpResponse health() const;
    [[nodiscard]] access::HttpResponse ready() const;
    [[nodiscard]] access::HttpResponse metrics() const;

    engine::Executor& executor_;
    std::function<bool()> is_ready_;
    OutputRoutes outputs_;
};

}  // namespace belljar::api
