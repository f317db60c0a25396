#include "api/routes.h"

#include <boost/json/object.hpp>

#include "access/challenge.h"
#include "access/event_stream.h"
#include "access/gate.h"
#include "api/metrics.h"
#include "api/needed_rights.h"
#include "api/refusals.h"
#include "api/run_events.h"
#include "base/json.h"
#include "engine/batch.h"
#include "engine/run_arguments.h"
#include "engine/runners_json.h"
#include "outcome/result_json.h"

namespace belljar::api {
namespace {

using access::HttpRequest;
using access::HttpResponse;
using access::make_refusal;

HttpResponse make_answer(const json::object& object) { return {.body = to_text(object)}; }

// "application/json", with or without parameters such as a charset.
bool is_json(const HttpRequest& request) {
    const std::string type = request.header("Content-Type").value_or("");
    const std::string media = type.substr(0, type.find_first_of("; \t"));
    const access::LessIgnoringCase less;
    constexpr std::string_view kJson = "application/json";
    return !less(media, kJson) && !less(kJson, media);
}

bool is_reading(const HttpRequest& request) {
    return request.method == "GET" || request.method == "HEAD";
}

// What a POST of JSON must look like; nothing if it does.
std::optional<HttpResponse> refuse_form(const HttpRequest& request) {
    if (request.method != "POST") {
        return refuse_method("POST");
    }
    if (!is_json(request)) {
        return make_refusal(415, "send the body with Content-Type: application/json");
    }
    return std::nullopt;
}

Result<engine::Batch> read_batch(const std::string& body) {
    BJ_TRY(const json::value value, parse_json(body));
    if (!value.is_object()) {
        return fail(ErrorCode::InvalidArgument,
                    "the body must be a JSON object such as {\"runs\": [{\"code\": \"6*7\"}]}");
    }
    return engine::parse_batch_arguments(value.get_object());
}

Result<execution::RunRequest> read_run(const std::string& body) {
    BJ_TRY(const json::value value, parse_json(body));
    if (!value.is_object()) {
        return fail(ErrorCode::InvalidArgument,
                    "the body must be a JSON object such as {\"code\": \"print(6*7)\"}");
    }
    return engine::parse_run_arguments(value.get_object());
}

}  // namespace

bool Routes::is_public(const HttpRequest& request) {
    return request.path == "/health" || request.path == "/ready";
}

std::optional<access::BodyPlan> Routes::body_plan(const HttpRequest&) { return std::nullopt; }

Task<HttpResponse> Routes::handle(HttpRequest request, engine::CancellationPtr cancellation) {
    if (const access::Rights needed = needed_rights(request);
        !access::allows(request.rights, needed)) {
        co_return access::insufficient_scope(request, needed);
    }
    if (request.path == "/health") {
        co_return is_reading(request) ? health() : refuse_method("GET, HEAD");
    }
    if (request.path == "/ready") {
        co_return is_reading(request) ? ready() : refuse_method("GET, HEAD");
    }
    if (request.path == "/metrics") {
        co_return is_reading(request) ? metrics() : refuse_method("GET, HEAD");
    }
    if (request.path == "/v1/runners") {
        if (!is_reading(request)) {
            co_return refuse_method("GET, HEAD");
        }
        HttpResponse response = co_await runners();
        co_return response;
    }
    if (request.path == "/execute" || request.path == "/v1/runs") {
        HttpResponse response = co_await execute(std::move(request), std::move(cancellation));
        co_return response;
    }
    if (SessionRoutes::is_mine(request)) {
        HttpResponse response =
            co_await sessions_.answer(std::move(request), std::move(cancellation));
        co_return response;
    }
    if (request.path == "/mcp/events") {
        HttpResponse response = co_await watch_.watch(std::move(request), std::move(cancellation));
        co_return response;
    }
    if (request.path == "/v1/runs:batch") {
        HttpResponse response = co_await execute_batch(std::move(request), std::move(cancellation));
        co_return response;
    }
    if (std::optional<HttpResponse> response = outputs_.answer(request)) {
        co_return std::move(*response);
    }
    co_return make_refusal(404, "nothing is here; see POST /execute, POST /mcp, GET /health");
}

Task<HttpResponse> Routes::execute(HttpRequest request, engine::CancellationPtr cancellation) {
    if (std::optional<HttpResponse> refusal = refuse_form(request)) {
        co_return std::move(*refusal);
    }
    Result<execution::RunRequest> run = read_run(request.body);
    if (!run) {
        co_return refuse(run.error());
    }
    const access::Rights for_sessions{access::Right::RunExec, access::Right::Sessions};
    if ((run->session || run->session_id) && !access::allows(request.rights, for_sessions)) {
        co_return access::insufficient_scope(request, for_sessions);
    }
    run->principal = std::move(request.principal);
    if (request.path == "/v1/runs" && request.stream && access::wants_events(request)) {
        HttpResponse response = co_await stream_run(std::move(*run), std::move(cancellation),
                                                    std::move(request.stream));
        co_return response;
    }
    Result<execution::RunResult> result =
        co_await executor_.execute(std::move(*run), std::move(cancellation));
    co_return result ? make_answer(outcome::to_json(*result)) : refuse(result.error());
}

// Until the run has its place, a refusal is an answer like any other.
Task<HttpResponse> Routes::stream_run(execution::RunRequest run,
                                      engine::CancellationPtr cancellation,
                                      access::ResponseStreamPtr stream) {
    RunEvents events(stream);
    Result<execution::RunResult> result =
        co_await executor_.execute(std::move(run), std::move(cancellation), events.watch());
    if (!stream->is_open()) {
        co_return result ? make_answer(outcome::to_json(*result)) : refuse(result.error());
    }
    if (result) {
        events.finish(*result);
    } else {
        events.fail(result.error());
    }
    co_return HttpResponse{};
}

Task<HttpResponse> Routes::execute_batch(HttpRequest request,
                                         engine::CancellationPtr cancellation) {
    if (std::optional<HttpResponse> refusal = refuse_form(request)) {
        co_return std::move(*refusal);
    }
    Result<engine::Batch> batch = read_batch(request.body);
    if (!batch) {
        co_return refuse(batch.error());
    }
    const engine::BatchResult result =
        co_await engine::run_batch(&executor_, std::move(*batch), std::move(request.principal),
                                   std::move(cancellation), nullptr);
    co_return make_answer(engine::to_json(result));
}

Task<HttpResponse> Routes::runners() {
    const engine::SandboxInfo info = co_await executor_.survey();
    co_return make_answer({{"runners", engine::runners_json(info)}});
}

HttpResponse Routes::health() const { return make_answer({{"status", "healthy"}}); }

HttpResponse Routes::metrics() const {
    return {.content_type = std::string(kMetricsType),
            .body = render_metrics(executor_.info(), executor_.figures())};
}

HttpResponse Routes::ready() const {
    if (!is_ready_()) {
        return make_refusal(503, "not ready: jars cannot be made now");
    }
    return make_answer({{"status", "ready"}});
}

}  // namespace belljar::api
