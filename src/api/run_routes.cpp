#include "api/run_routes.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "access/challenge.h"
#include "access/event_stream.h"
#include "api/refusals.h"
#include "api/run_events.h"
#include "base/json.h"
#include "engine/batch.h"
#include "engine/run_arguments.h"
#include "outcome/result_json.h"

namespace belljar::api {
namespace {

using access::HttpRequest;
using access::HttpResponse;
using access::Right;

HttpResponse make_answer(const json::object& object) { return {.body = to_text(object)}; }

// "application/json", with or without parameters such as a charset.
bool is_json(const HttpRequest& request) {
    const std::string type = request.header("Content-Type").value_or("");
    const std::string media = type.substr(0, type.find_first_of("; \t"));
    const access::LessIgnoringCase less;
    constexpr std::string_view kJson = "application/json";
    return !less(media, kJson) && !less(kJson, media);
}

HttpResponse refuse_media_type() {
    return access::make_refusal(415, "send the body with Content-Type: application/json");
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

Operation run_operation(std::string_view id, std::string_view path, std::string_view tag) {
    return {.id = std::string(id),
            .method = "POST",
            .path = std::string(path),
            .tag = std::string(tag),
            .summary = "Runs a program in a jar of its own",
            .rights = {Right::RunExec},
            .bodies = {{.schema = {{"type", "object"}, {"required", json::array{"code"}}}}},
            .answers = {{.description = "What became of it.",
                         .content = {{.schema = {{"type", "object"}}}}}}};
}

}  // namespace

void RunRoutes::add_to(OperationTable& table) {
    Operation create = run_operation("createRun", "/v1/runs", "runs");
    create.handler = [this](Call call) { return execute(std::move(call)); };
    table.add(create);
    Operation dialect = run_operation("execute", "/execute", "compatibility");
    dialect.handler = create.handler;
    table.add(dialect);
    table.add({.id = "createRuns",
               .method = "POST",
               .path = "/v1/runs:batch",
               .tag = "runs",
               .summary = "Runs several programs, some of them at once",
               .rights = {Right::RunExec},
               .bodies = {{.schema = {{"type", "object"}, {"required", json::array{"runs"}}}}},
               .answers = {{.description = "What became of each, in their order.",
                            .content = {{.schema = {{"type", "object"}}}}}},
               .handler = [this](Call call) { return execute_batch(std::move(call)); }});
    table.add({.id = "watchRuns",
               .method = "GET",
               .path = "/mcp/events",
               .tag = "runs",
               .summary = "What happens to the caller's runs, as server-sent events",
               .rights = {Right::RunExec},
               .answers = {{.description = "Events until the caller leaves.",
                            .content = {{.media_type = "text/event-stream",
                                         .schema = {{"type", "string"}}}}}},
               .handler = [this](Call call) {
                   return watch_.watch(std::move(call.request), std::move(call.cancellation));
               }});
}

Task<HttpResponse> RunRoutes::execute(Call call) {
    access::HttpRequest request = std::move(call.request);
    if (!is_json(request)) {
        co_return refuse_media_type();
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
        HttpResponse response = co_await stream_run(std::move(*run), std::move(call.cancellation),
                                                    std::move(request.stream));
        co_return response;
    }
    Result<execution::RunResult> result =
        co_await executor_.execute(std::move(*run), std::move(call.cancellation));
    co_return result ? make_answer(outcome::to_json(*result)) : refuse(result.error());
}

// Until the run has its place, a refusal is an answer like any other.
Task<HttpResponse> RunRoutes::stream_run(execution::RunRequest run,
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

Task<HttpResponse> RunRoutes::execute_batch(Call call) {
    access::HttpRequest request = std::move(call.request);
    if (!is_json(request)) {
        co_return refuse_media_type();
    }
    Result<engine::Batch> batch = read_batch(request.body);
    if (!batch) {
        co_return refuse(batch.error());
    }
    const engine::BatchResult result =
        co_await engine::run_batch(&executor_, std::move(*batch), std::move(request.principal),
                                   std::move(call.cancellation), nullptr);
    co_return make_answer(engine::to_json(result));
}

}  // namespace belljar::api
