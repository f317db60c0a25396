#pragma once

#include <functional>
#include <optional>

#include "access/http_message.h"
#include "api/output_routes.h"
#include "api/session_routes.h"
#include "api/watch_route.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "engine/executor.h"

namespace belljar::api {

// The REST surface. Borrows the executor; used on the I/O thread only.
class Routes {
   public:
    // `is_ready` says whether work is accepted; `outputs` and `feed` outlive this, if there are
    // any.
    Routes(engine::Executor& executor, std::function<bool()> is_ready,
           const storage::OutputStore* outputs = nullptr, engine::RunFeed* feed = nullptr)
        : executor_(executor),
          is_ready_(std::move(is_ready)),
          outputs_(outputs),
          sessions_(executor),
          watch_(feed) {}

    // Whether this path is answered without a token.
    [[nodiscard]] static bool is_public(const access::HttpRequest& request);
    // How much body is read for a request whose head is known, and where it goes. Nothing: the
    // usual limit, in memory.
    [[nodiscard]] static std::optional<access::BodyPlan> body_plan(
        const access::HttpRequest& request);

    Task<access::HttpResponse> handle(access::HttpRequest request,
                                      engine::CancellationPtr cancellation);

   private:
    Task<access::HttpResponse> execute(access::HttpRequest request,
                                       engine::CancellationPtr cancellation);
    Task<access::HttpResponse> execute_batch(access::HttpRequest request,
                                             engine::CancellationPtr cancellation);
    Task<access::HttpResponse> stream_run(execution::RunRequest run,
                                          engine::CancellationPtr cancellation,
                                          access::ResponseStreamPtr stream);
    Task<access::HttpResponse> runners();
    [[nodiscard]] access::HttpResponse health() const;
    [[nodiscard]] access::HttpResponse ready() const;
    [[nodiscard]] access::HttpResponse metrics() const;

    engine::Executor& executor_;
    std::function<bool()> is_ready_;
    OutputRoutes outputs_;
    SessionRoutes sessions_;
    WatchRoute watch_;
};

}  // namespace belljar::api
