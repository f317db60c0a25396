#include "api/routes.h"

#include "access/challenge.h"
#include "access/gate.h"
#include "api/caller_routes.h"
#include "api/conversation_routes.h"
#include "api/described_routes.h"
#include "api/dialect_piston.h"
#include "api/dialect_routes.h"
#include "api/dialect_sandbox_fusion.h"
#include "api/docs_routes.h"
#include "api/metrics.h"
#include "api/output_routes.h"
#include "api/policy_routes.h"
#include "api/record_routes.h"
#include "api/refusals.h"
#include "api/run_routes.h"
#include "api/session_routes.h"
#include "api/system_routes.h"
#include "api/web_routes.h"

namespace belljar::api {

using access::HttpRequest;
using access::HttpResponse;
using access::make_refusal;

Routes::Routes(engine::Executor& executor, std::function<bool()> is_ready,
               const storage::OutputStore* outputs, engine::RunFeed* feed,
               const access::RequestCounters* requests)
    : repeats_(executor.state()) {
    add(std::make_unique<SystemRoutes>(executor, std::move(is_ready), requests, more_figures_));
    add(std::make_unique<DocsRoutes>());
    add(std::make_unique<WebRoutes>());
    add(std::make_unique<CallerRoutes>(executor));
    add(std::make_unique<DescribedRoutes>());
    add(std::make_unique<RunRoutes>(executor, feed));
    add(std::make_unique<PolicyRoutes>(executor));
    add(std::make_unique<RecordRoutes>(executor, feed));
    add(std::make_unique<OutputRoutes>(outputs));
    add(std::make_unique<SessionRoutes>(executor));
    add(std::make_unique<ConversationRoutes>(executor));
    add(std::make_unique<DialectRoutes>(executor));
    add(std::make_unique<PistonRoutes>(executor));
    add(std::make_unique<SandboxFusionRoutes>(executor));
    if (feed != nullptr) {
        add_figures([feed] { return render_watching(*feed); });
    }
}

void Routes::add(std::unique_ptr<RouteGroup> group) {
    group->add_to(table_);
    groups_.push_back(std::move(group));
}

void Routes::add_figures(std::function<std::string()> figures) {
    more_figures_.push_back(std::move(figures));
}

bool Routes::is_public(const HttpRequest& request) const {
    OperationTable::Finding finding = table_.find(request.method, request.path);
    if (std::holds_alternative<OperationTable::WrongMethod>(finding)) {
        finding = table_.find("GET", request.path);  // to be told which methods there are
    }
    const auto* found = std::get_if<OperationTable::Found>(&finding);
    return found != nullptr && found->operation->door == access::Gate::Door::Open;
}

std::optional<access::BodyPlan> Routes::body_plan(const HttpRequest& request) const {
    const OperationTable::Finding finding = table_.find(request.method, request.path);
    const auto* found = std::get_if<OperationTable::Found>(&finding);
    if (is_public(request) && (found == nullptr || found->operation->bodies.empty())) {
        return access::BodyPlan{};
    }
    return found == nullptr ? std::nullopt : found->operation->body_plan;
}

std::string Routes::operation_of(const HttpRequest& request) const {
    const OperationTable::Finding finding = table_.find(request.method, request.path);
    const auto* found = std::get_if<OperationTable::Found>(&finding);
    return found == nullptr ? "unknown" : found->operation->id;
}

Task<HttpResponse> Routes::handle(HttpRequest request, engine::CancellationPtr cancellation) {
    OperationTable::Finding finding = table_.find(request.method, request.path);
    if (auto* found = std::get_if<OperationTable::Found>(&finding);
        found != nullptr && found->operation->handler) {
        const Operation& operation = *found->operation;
        if (!access::allows(request.rights, operation.rights)) {
            co_return access::insufficient_scope(request, operation.rights);
        }
        const bool repeatable = Repeats::wants(request);
        Call call{.request = std::move(request),
                  .path_values = std::move(found->path_values),
                  .cancellation = std::move(cancellation)};
        HttpResponse response =
            co_await (repeatable ? repeats_.answer(&operation.handler, std::move(call))
                                 : operation.handler(std::move(call)));
        co_return response;
    }
    if (const auto* wrong = std::get_if<OperationTable::WrongMethod>(&finding)) {
        co_return refuse_method(wrong->allowed);
    }
    if (const auto* bad = std::get_if<OperationTable::BadPath>(&finding)) {
        co_return make_refusal(400, bad->reason);
    }
    co_return make_refusal(404, "nothing is here; see POST /execute, POST /mcp, GET /health");
}

}  // namespace belljar::api
