#pragma once

#include <functional>
#include <optional>
#include <string>

#include "access/gate.h"
#include "access/http_message.h"
#include "access/rate_limiter.h"
#include "access/request_counters.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "mcp/server.h"

namespace belljar::transport {

// From a request to whoever answers it: first the gate, then MCP or the REST routes.
class HttpRouter {
   public:
    // A request and what became of it.
    struct Answered {
        std::string operation{};
        std::string method{};
        std::string path{};
        std::string principal{};
        std::string client{};  // what it says of itself
        std::string address{};
        unsigned status = 0;
    };

    // What goes along with every request; all borrowed, and each may be missing.
    struct Watch {
        access::RateLimiter* limiter = nullptr;
        access::RequestCounters* counters = nullptr;
        const Log* log = nullptr;
        // Before an operation that changes something for everybody; the error is its refusal.
        std::function<Result<void>(const access::HttpRequest&)> on_change{};
        // Each answer, before it leaves.
        std::function<void(const Answered&)> on_answer{};
        // Told the address of each that shows a token which is not valid.
        std::function<void(const std::string&)> on_stranger{};
    };

    HttpRouter(access::Gate gate, mcp::Server& mcp, api::Routes& routes)
        : HttpRouter(std::move(gate), mcp, routes, Watch{}) {}
    HttpRouter(access::Gate gate, mcp::Server& mcp, api::Routes& routes, Watch watch)
        : gate_(std::move(gate)), mcp_(mcp), routes_(routes), watch_(std::move(watch)) {}

    // The gate and the limits alone: the refusal, or nothing. Once for each request. Needs no body,
    // so neither who is unknown nor who asks too much can make us read one.
    [[nodiscard]] std::optional<access::HttpResponse> check(const access::HttpRequest& request);
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
    using Headers = std::vector<std::pair<std::string, std::string>>;

    // What is told of a request, once it is answered.
    struct Note {
        std::string operation{};
        std::string principal{};
        std::string client{};
        std::optional<access::TraceContext> trace{};
        TimePoint began{};
        std::uint64_t bytes_in = 0;
        std::string method{};
        std::string path{};
        std::string agent{};
    };

    [[nodiscard]] access::Gate::Door door_of(const access::HttpRequest& request) const;
    [[nodiscard]] Note note_of(const access::HttpRequest& request) const;
    void tell(const Note& note, const access::HttpResponse& response, std::uint64_t bytes_out);
    // 429 instead of one refusal more, if this address has had enough of them.
    void slow_down(const access::HttpRequest& request, access::HttpResponse& refusal);
    [[nodiscard]] Headers headers_for(const access::HttpRequest& request, access::Gate::Door door);
    Task<access::HttpResponse> route(access::HttpRequest request,
                                     engine::CancellationPtr cancellation);

    access::Gate gate_;
    mcp::Server& mcp_;
    api::Routes& routes_;
    Watch watch_;
};

}  // namespace belljar::transport
