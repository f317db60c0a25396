#include "api/system_routes.h"

#include <algorithm>
#include <boost/json/array.hpp>

#include "api/entity_tag.h"
#include "api/metrics.h"
#include "api/open_api.h"
#include "api/operation_parts.h"
#include "base/json.h"
#include "base/json_schema.h"
#include "engine/runners_json.h"
#include "outcome/result_schema.h"

namespace belljar::api {
namespace {

using access::HttpResponse;

// An operation whose answer is at hand.
Handler at_once(std::function<HttpResponse()> answer) {
    return [answer = std::move(answer)](Call /*call*/) { return answer_at_once(answer()); };
}

constexpr std::string_view kRunner = R"({
  "type": "object",
  "properties": {
    "language": {"type": "string"},
    "title": {"type": "string"},
    "aliases": {"type": "array", "items": {"type": "string"}},
    "runner": {"type": "string"},
    "version": {"type": "string"},
    "usable": {"type": "boolean"},
    "reason": {"type": "string", "description": "Why it cannot be used."},
    "kind": {"type": "string", "enum": ["zygote", "pool", "started"]}
  },
  "required": ["language", "title", "aliases", "runner", "version", "usable", "kind", "limits"],
  "additionalProperties": false
})";

json::object runner_schema() {
    json::object schema = schema_from(kRunner);
    schema.at("properties").as_object()["limits"] = outcome::limits_schema();
    return schema;
}

Answer status_answer(std::string_view status) {
    return {.description = "It is.",
            .content = {{.schema = {{"type", "object"},
                                    {"required", json::array{"status"}},
                                    {"properties",
                                     json::object{{"status", json::object{{"const", status}}}}}}}}};
}

constexpr std::string_view kProblem = R"({
  "type": "object",
  "description": "What is wrong (RFC 9457).",
  "properties": {
    "type": {"const": "about:blank"},
    "title": {"type": "string"},
    "status": {"type": "integer", "minimum": 400, "maximum": 599},
    "detail": {"type": "string"},
    "code": {
      "type": "string",
      "enum": ["invalid_argument", "not_found", "unauthenticated", "denied", "too_large",
               "quota_reached", "overloaded", "unavailable", "unsupported", "conflict",
               "precondition_failed", "storage_full", "cancelled", "system_call", "internal"]
    },
    "error": {"type": "string", "description": "The same as detail."},
    "errors": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "detail": {"type": "string"},
          "pointer": {"type": "string", "description": "Of the member of the body."},
          "parameter": {"type": "string", "description": "Of the query."}
        },
        "required": ["detail"],
        "additionalProperties": false
      }
    }
  },
  "required": ["type", "title", "status", "detail", "code", "error"],
  "additionalProperties": false
})";

constexpr std::string_view kRefusal = R"({
  "type": "object",
  "properties": {"error": {"type": "string"}},
  "required": ["error"]
})";

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
               .description = "503 while the self-test runs, if it has failed, while the server is "
                              "drained, and at shutdown.",
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
    add_description(table);
    add_runners(table);
}

void SystemRoutes::add_description(OperationTable& table) {
    table.add_schema("Problem", schema_from(kProblem));
    table.add_schema("Refusal", schema_from(kRefusal));
    table.add({.id = "getDescription",
               .method = "GET",
               .path = "/openapi.json",
               .tag = "system",
               .summary = "This document",
               .door = access::Gate::Door::Open,
               .parameters = {tag_parameter()},
               .answers = {{.description = "OpenAPI 3.1.",
                            .content = {{.schema = {{"type", "object"},
                                                    {"required", json::array{"openapi"}}}}},
                            .headers = {header_parameter("ETag", "Of this version.")}},
                           not_modified()},
               .handler = [this](Call call) { return answer_at_once(description(call.request)); }});
}

void SystemRoutes::add_runners(OperationTable& table) {
    table.add_schema("Runner", runner_schema());
    table.add_schema(
        "Runners", object_schema({{"runners", {{"type", "array"}, {"items", reference("Runner")}}}},
                                 {"runners"}));
    Operation all{.id = "listRunners",
                  .method = "GET",
                  .path = "/v1/runners",
                  .tag = "runners",
                  .summary = "The languages, and whether each can be used here",
                  .parameters = {tag_parameter()},
                  .answers = {answer_in("Runners", "All that are known."), not_modified()},
                  .handler = [this](Call call) { return runners(std::move(call)); }};
    all.answers.front().headers = {header_parameter("ETag", "Of this list.")};
    Operation one = all;
    one.id = "getRunner";
    one.path = "/v1/runners/{language}";
    one.summary = "One language, by its name or another name of it";
    one.answers.front().content = {{.schema = reference("Runner")}};
    one.answers.front().description = "The language.";
    one.handler = [this](Call call) { return runner(std::move(call)); };
    table.add(std::move(all));
    table.add(std::move(one));
}

HttpResponse SystemRoutes::health() const {
    return {.body = to_text(json::object{{"status", "healthy"}})};
}

HttpResponse SystemRoutes::ready() const {
    if (executor_.intake() == engine::Intake::Drained) {
        return access::make_refusal(503, "not ready: the server is drained");
    }
    if (!is_ready_()) {
        return access::make_refusal(503, "not ready: jars cannot be made now");
    }
    return {.body = to_text(json::object{{"status", "ready"}})};
}

HttpResponse SystemRoutes::metrics() const {
    std::string body =
        render_metrics(executor_.info(), executor_.figures(),
                       requests_ != nullptr ? requests_->figures() : access::RequestFigures{});
    for (const auto& figures : more_figures_) {
        body += figures();
    }
    return {.content_type = std::string(kMetricsType), .body = std::move(body)};
}

// Anybody may ask, as often as they like, and what there is to describe no longer changes.
HttpResponse SystemRoutes::description(const access::HttpRequest& request) {
    if (description_.empty()) {
        description_ = to_text(describe(*table_, executor_.info().version));
        description_tag_ = tag_of(description_);
    }
    return with_tag(request, {.body = description_}, description_tag_);
}

Task<HttpResponse> SystemRoutes::runners(Call call) {
    const engine::SandboxInfo info = co_await executor_.survey();
    co_return with_tag(call.request,
                       {.body = to_text(json::object{{"runners", engine::runners_json(info)}})});
}

Task<HttpResponse> SystemRoutes::runner(Call call) {
    const std::string& wanted = call.path_value("language");
    engine::SandboxInfo info = co_await executor_.survey();
    std::erase_if(info.runners, [&](const engine::SandboxInfo::Runner& one) {
        return one.language != wanted &&
               std::ranges::find(one.aliases, wanted) == one.aliases.end();
    });
    if (info.runners.empty()) {
        co_return access::make_refusal(404, "there is no such language; see GET /v1/runners");
    }
    co_return with_tag(call.request, {.body = to_text(engine::runners_json(info).front())});
}

}  // namespace belljar::api
