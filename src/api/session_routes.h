#pragma once

#include <optional>

#include "access/http_message.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "engine/executor.h"

namespace belljar::api {

// Sessions by REST: POST /v1/sessions ({"language": ..., all optional}) begins one, GET
// /v1/sessions, GET and DELETE /v1/sessions/{id}, POST
// /v1/sessions/{id}/undo, fork and reset ({"cells": n} where it matters), GET
// /v1/sessions/{id}/diff?cells=n. Cells are runs: POST /v1/runs with "session" or "session_id".
class SessionRoutes {
   public:
    explicit SessionRoutes(engine::Executor& executor) : executor_(executor) {}

    [[nodiscard]] static bool is_mine(const access::HttpRequest& request);
    Task<access::HttpResponse> answer(access::HttpRequest request,
                                      engine::CancellationPtr cancellation);

   private:
    Task<access::HttpResponse> begin(access::HttpRequest request,
                                     engine::CancellationPtr cancellation);
    Task<access::HttpResponse> obey(execution::SessionOrder order);
    [[nodiscard]] access::HttpResponse list(const std::string& principal) const;
    [[nodiscard]] access::HttpResponse show(const execution::SessionOrder& wanted) const;

    engine::Executor& executor_;
};

}  // namespace belljar::api
