#include "api/routes.h"

#include "access/challenge.h"
#include "access/gate.h"
#include "api/needed_rights.h"
#include "api/refusals.h"
#include "api/run_routes.h"
#include "api/system_routes.h"

namespace belljar::api {

using access::HttpRequest;
using access::HttpResponse;
using access::make_refusal;

Routes::Routes(engine::Executor& executor, std::function<bool()> is_ready,
               const storage::OutputStore* outputs, engine::RunFeed* feed)
    : outputs_(outputs), sessions_(executor) {
    add(std::make_unique<SystemRoutes>(executor, std::move(is_ready)));
    add(std::make_unique<RunRoutes>(executor, feed));
}

void Routes::add(std::unique_ptr<RouteGroup> group) {
    group->add_to(table_);
    groups_.push_back(std::move(group));
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
    return found == nullptr ? std::nullopt : found->operation->body_plan;
}

Task<HttpResponse> Routes::handle(HttpRequest request, engine::CancellationPtr cancellation) {
    OperationTable::Finding finding = table_.find(request.method, request.path);
    if (auto* found = std::get_if<OperationTable::Found>(&finding);
        found != nullptr && found->operation->handler) {
        const Operation& operation = *found->operation;
        if (!access::allows(request.rights, operation.rights)) {
            co_return access::insufficient_scope(request, operation.rights);
        }
        HttpResponse response =
            co_await operation.handler({.request = std::move(request),
                                        .path_values = std::move(found->path_values),
                                        .cancellation = std::move(cancellation)});
        co_return response;
    }
    if (const auto* wrong = std::get_if<OperationTable::WrongMethod>(&finding)) {
        co_return refuse_method(wrong->allowed);
    }
    if (const auto* bad = std::get_if<OperationTable::BadPath>(&finding)) {
        co_return make_refusal(400, bad->reason);
    }
    if (const access::Rights needed = needed_rights(request);
        !access::allows(request.rights, needed)) {
        co_return access::insufficient_scope(request, needed);
    }
    if (SessionRoutes::is_mine(request)) {
        HttpResponse response =
            co_await sessions_.answer(std::move(request), std::move(cancellation));
        co_return response;
    }
    if (std::optional<HttpResponse> response = outputs_.answer(request)) {
        co_return std::move(*response);
    }
    co_return make_refusal(404, "nothing is here; see POST /execute, POST /mcp, GET /health");
}

}  // namespace belljar::api
