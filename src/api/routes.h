#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "access/http_message.h"
#include "access/request_counters.h"
#include "api/operation_table.h"
#include "api/repeats.h"
#include "api/route_group.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "engine/executor.h"
#include "engine/run_feed.h"
#include "storage/output_store.h"

namespace belljar::api {

// The HTTP surface besides MCP: finds the operation that a request asks for, checks that the caller
// may ask for it, and lets it answer. Used on the I/O thread only.
class Routes {
   public:
    // `is_ready` says whether work is accepted; `outputs`, `feed` and `requests` outlive this, if
    // there are any.
    Routes(engine::Executor& executor, std::function<bool()> is_ready,
           const storage::OutputStore* outputs = nullptr, engine::RunFeed* feed = nullptr,
           const access::RequestCounters* requests = nullptr);

    // Before the first request.
    void add(std::unique_ptr<RouteGroup> group);

    // Before the first request: more lines of GET /metrics, whole and with their breaks.
    void add_figures(std::function<std::string()> figures);

    // Whether this is answered without a token.
    [[nodiscard]] bool is_public(const access::HttpRequest& request) const;
    // How much body is read for a request whose head is known, and where it goes. Nothing: the
    // usual limit, in memory. Who needs no token gets nothing read that is of no use.
    [[nodiscard]] std::optional<access::BodyPlan> body_plan(
        const access::HttpRequest& request) const;

    // The id of the operation that is asked for, or "unknown".
    [[nodiscard]] std::string operation_of(const access::HttpRequest& request) const;

    Task<access::HttpResponse> handle(access::HttpRequest request,
                                      engine::CancellationPtr cancellation);

    [[nodiscard]] const OperationTable& table() const { return table_; }

   private:
    std::vector<std::function<std::string()>> more_figures_;
    Repeats repeats_;
    OperationTable table_;
    std::vector<std::unique_ptr<RouteGroup>> groups_;
};

}  // namespace belljar::api
