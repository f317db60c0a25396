#include "api/system_routes.h"

#include <boost/json/array.hpp>

#include "api/metrics.h"
#include "api/open_api.h"
#include "base/json.h"
#include "engine/runners_json.h"

namespace belljar::api {
namespace {

using access::HttpResponse;

// An operation whose answer is at hand.
Handler at_once(std::function<HttpResponse()> answer) {
    return [answer = std::move(answer)](Call /*call*/) {
        return [](HttpResponse response) -> Task<HttpResponse> { co_return response; }(answer());
    };
}

Answer status_answer(std::string_view status) {
    return {.description = "It is.",
            .content = {{.schema = {{"type", "object"},
                                    {"required", json::array{"status"}},
                                    {"properties",
                                     json::object{{"status", json::object{{"const", status}}}}}}}}};
}

}  // namespace

void SystemRoutes::add_to(OperationTable& table) {
    table_ = &table;
    table.add({.id = "getHealth",
               .method = "GET",
               .path = "/health",
               .tag = "system",
               .summary = "Whether the server answers at all",
               .door = access::Gate::Door::Open,
               .answers = {status_answer("healthy")},
               .handler = at_once([this] { return health(); })});
    table.add({.id = "getReadiness",
               .method = "GET",
               .path = "/ready",
               .tag = "system",
               .summary = "Whether code can be run now",
               .description = "503 while the self-test runs, if it has failed, and at shutdown.",
               .door = access::Gate::Door::Open,
               .answers = {status_answer("ready")},
               .handler = at_once([this] { return ready(); })});
    table.add(
        {.id = "getMetrics",
         .method = "GET",
         .path = "/metrics",
         .tag = "system",
         .summary = "Figures for Prometheus",
         .rights = {access::Right::MetricsRead},
         .answers = {{.description = "The text format of Prometheus.",
                      .content = {{.media_type = "text/plain", .schema = {{"type", "string"}}}}}},
         .handler = at_once([this] { return metrics(); })});
    table.add({.id = "getDescription",
               .method = "GET",
               .path = "/openapi.json",
               .tag = "system",
               .summary = "This document",
               .answers = {{.description = "OpenAPI 3.1.",
                            .content = {{.schema = {{"type", "object"}}}}}},
               .handler = at_once([this] { return description(); })});
    table.add({.id = "listRunners",
               .method = "GET",
               .path = "/v1/runners",
               .tag = "runners",
               .summary = "The languages, and whether each can be used here",
               .answers = {{.description = "All that are known.",
                            .content = {{.schema = {{"type", "object"},
                                                    {"required", json::array{"runners"}}}}}}},
               .handler = [this](Call /*call*/) { return runners(); }});
}

HttpResponse SystemRoutes::health() const {
    return {.body = to_text(json::object{{"status", "healthy"}})};
}

HttpResponse SystemRoutes::ready() const {
    if (!is_ready_()) {
        return access::make_refusal(503, "not ready: jars cannot be made now");
    }
    return {.body = to_text(json::object{{"status", "ready"}})};
}

HttpResponse SystemRoutes::metrics() const {
    return {.content_type = std::string(kMetricsType),
            .body = render_metrics(executor_.info(), executor_.figures())};
}

HttpResponse SystemRoutes::description() const {
    return {.body = to_text(describe(*table_, executor_.info().version))};
}

Task<HttpResponse> SystemRoutes::runners() {
    const engine::SandboxInfo info = co_await executor_.survey();
    co_return HttpResponse{.body = to_text(json::object{{"runners", engine::runners_json(info)}})};
}

}  // namespace belljar::api
