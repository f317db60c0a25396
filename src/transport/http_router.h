#pragma once

#include <optional>

#include "access/gate.h"
#include "access/http_message.h"
#include "api/routes.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "mcp/server.h"

namespace belljar::transport {

// From a request to whoever answers it: first the gate, then MCP or the REST routes.
class HttpRouter {
   public:
    HttpRouter(access::Gate gate, mcp::Server& mcp, api::Routes& routes)
        : gate_(std::move(gate)), mcp_(mcp), routes_(routes) {}

    // The gate alone: the refusal, or nothing. Needs no body, so nobody unknown can make us read
    // one.
    [[nodiscard]] std::optional<access::HttpResponse> check(
        const access::HttpRequest& request) const;
    // How much body is read; see access::BodyPlan.
    [[nodiscard]] std::optional<access::BodyPlan> body_plan(
        const access::HttpRequest& request) const {
        return routes_.body_plan(request);
    }
    // For callers that come from now on.
    [[nodiscard]] access::Gate& gate() { return gate_; }
    // Checks and answers. Never fails: what is wrong is said in the response.
    Task<access::HttpResponse> answer(access::HttpRequest request,
                                      engine::CancellationPtr cancellation);

   private:
    [[nodiscard]] access::Gate::Door door_of(const access::HttpRequest& request) const;
    Task<access::HttpResponse> route(access::HttpRequest request,
                                     engine::CancellationPtr cancellation);

    access::Gate gate_;
    mcp::Server& mcp_;
    api::Routes& routes_;
};

}  // namespace belljar::transport
