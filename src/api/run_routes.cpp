#include "api/run_routes.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <expected>

#include "access/challenge.h"
#include "access/event_stream.h"
#include "access/run_origin.h"
#include "api/json_body.h"
#include "api/operation_parts.h"
#include "api/refusals.h"
#include "api/run_events.h"
#include "api/run_json.h"
#include "base/json.h"
#include "base/json_schema.h"
#include "engine/batch.h"
#include "engine/run_arguments.h"
#include "engine/run_schema.h"
#include "outcome/result_json.h"
#include "outcome/result_schema.h"

namespace belljar::api {
namespace {

using access::HttpRequest;
using access::HttpResponse;
using access::Right;

constexpr std::string_view kExample = R"json({"code": "print(6*7)"})json";
constexpr std::string_view kBatchExample = R"json({"runs": [{"code": "print(6*7)"}]})json";

HttpResponse make_answer(const json::object& object) { return {.body = to_text(object)}; }

HttpResponse make_answer(const execution::RunResult& result) {
    HttpResponse answer = make_answer(outcome::to_json(result));
    answer.cut_short = result.status == execution::Status::Cancelled;
    return answer;
}

Result<engine::Batch> read_batch(const std::string& body) {
    BJ_TRY(const json::object arguments, read_object(body, kBatchExample));
    return engine::parse_batch_arguments(arguments);
}

// What a request for a run says, in the name of its caller; or the refusal.
struct Wish {
    execution::RunRequest run{};
    bool background = false;
};

Result<bool> take_background(json::object& arguments) {
    const json::value* value = arguments.if_contains("background");
    if (value == nullptr) {
        return false;
    }
    if (!value->is_bool()) {
        return fail(ErrorCode::InvalidArgument, "\"background\" must be true or false");
    }
    const bool wanted = value->get_bool();
    arguments.erase("background");
    return wanted;
}

// Whether a list such as "respond-async, wait=10" names the preference.
bool prefers_async(const HttpRequest& request) {
    const std::string preferences = request.header("Prefer").value_or("");
    std::string_view rest = preferences;
    while (!rest.empty()) {
        std::string_view one = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(one.size() + 1, rest.size()));
        const std::size_t begin = std::min(one.find_first_not_of(" \t"), one.size());
        one = one.substr(begin);
        one = one.substr(0, one.find_first_of(" \t;"));
        const access::LessIgnoringCase less;
        constexpr std::string_view kAsync = "respond-async";
        if (!less(one, kAsync) && !less(kAsync, one)) {
            return true;
        }
    }
    return false;
}

Result<Wish> read_wish(const std::string& body) {
    BJ_TRY(json::object arguments, read_object(body, kExample));
    Wish wish;
    BJ_TRY(wish.background, take_background(arguments));
    BJ_TRY(wish.run, engine::parse_run_arguments(arguments));
    return wish;
}

// Cells of sessions take one right more.
access::Rights for_sessions() { return {Right::RunExec, Right::Sessions}; }

bool is_cell(const execution::RunRequest& run) { return run.session || run.session_id; }

bool uses_sessions(const engine::Batch& batch) {
    return std::ranges::any_of(batch.runs, [](const auto& run) { return run && is_cell(*run); });
}

std::expected<Wish, HttpResponse> admit(const HttpRequest& request) {
    if (!is_json(request)) {
        return std::unexpected(refuse_media_type());
    }
    Result<Wish> wish = read_wish(request.body);
    if (!wish) {
        return std::unexpected(refuse(wish.error()));
    }
    if (is_cell(wish->run) && !access::allows(request.rights, for_sessions())) {
        return std::unexpected(access::insufficient_scope(request, for_sessions()));
    }
    access::set_origin(wish->run, request);
    return std::move(*wish);
}

json::object closed(json::object schema) {
    schema["additionalProperties"] = false;
    return schema;
}

json::object create_schema() {
    json::object schema = engine::run_arguments_schema();
    schema.at("properties").as_object()["background"] = {
        {"type", "boolean"},
        {"default", false},
        {"description", "True answers at once with 202; GET /v1/runs/{run_id} has the result."}};
    return schema;
}

constexpr std::string_view kBatch = R"({
  "type": "object",
  "properties": {
    "runs": {
      "type": "array",
      "minItems": 1,
      "maxItems": 64,
      "items": {"$ref": "#/components/schemas/RunArguments"}
    },
    "stop_on_error": {"type": "boolean", "default": false},
    "parallel": {"type": "integer", "minimum": 1, "maximum": 64}
  },
  "required": ["runs"],
  "additionalProperties": false
})";

constexpr std::string_view kBatchResult = R"({
  "type": "object",
  "properties": {
    "success": {"type": "boolean"},
    "succeeded": {"type": "integer"},
    "failed": {"type": "integer"},
    "refused": {"type": "integer"},
    "skipped": {"type": "integer"},
    "results": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "index": {"type": "integer"},
          "state": {"type": "string", "enum": ["ran", "refused", "skipped"]},
          "result": {"$ref": "#/components/schemas/RunResult"},
          "error": {"type": "string"},
          "code": {"type": "string"},
          "retry_after_seconds": {"type": "integer"}
        },
        "required": ["index", "state"],
        "additionalProperties": false
      }
    }
  },
  "required": ["success", "succeeded", "failed", "refused", "skipped", "results"],
  "additionalProperties": false
})";

constexpr std::string_view kAboutCreate =
    "The answer is the record of the run when it is over, whatever became of the program. With "
    "`Accept: text/event-stream` it comes as events: `started`, `stdout`, `stderr`, `dropped`, and "
    "last `result` or `error`. With `Prefer: respond-async` or `background` the answer is 202 at "
    "once; the run goes on without its caller, `GET /v1/runs/{run_id}` tells of it and "
    "`POST /v1/runs/{run_id}/cancel` ends it.";

json::object either(json::object one, json::object other) {
    return {{"anyOf", json::array{std::move(one), std::move(other)}}};
}

json::object tool_call_schema() {
    return object_schema({{"tool", {{"type", "string"}}},
                          {"arguments", {{"type", "object"}}},
                          {"user", {{"type", "string"}}}},
                         {"tool"});
}

json::object tool_answer_schema() {
    return object_schema({{"success", {{"type", "boolean"}}},
                          {"output", {{"type", "string"}}},
                          {"tool", {{"type", "string"}}}},
                         {"success", "output", "tool"});
}

}  // namespace

void RunRoutes::add_to(OperationTable& table) {
    table.add_schema("RunArguments", engine::run_arguments_schema());
    table.add_schema("RunCreation", create_schema());
    table.add_schema("RunResult", closed(outcome::result_schema()));
    table.add_schema("Batch", schema_from(kBatch));
    table.add_schema("BatchResult", schema_from(kBatchResult));
    table.add_schema("Preview", preview_schema());
    add_create(table);
    add_others(table);
}

void RunRoutes::add_create(OperationTable& table) {
    Answer done = answer_in("RunResult", "What became of it.");
    done.content.push_back({.media_type = "text/event-stream", .schema = {{"type", "string"}}});
    Answer begun = answer_in("Run", "It goes on without its caller.", 202);
    begun.headers = {header_parameter("Location", "Where the run is."),
                     header_parameter("Preference-Applied", "respond-async, if that was asked.")};
    table.add({.id = "createRun",
               .method = "POST",
               .path = "/v1/runs",
               .tag = "runs",
               .summary = "Runs a program in a jar of its own",
               .description = std::string(kAboutCreate),
               .rights = {Right::RunExec},
               .parameters = {header_parameter("Prefer", "`respond-async`: do not wait.")},
               .bodies = {{.schema = reference("RunCreation")}},
               .answers = {std::move(done), std::move(begun)},
               .handler = [this](Call call) { return create(std::move(call)); }});
    table.add({.id = "execute",
               .method = "POST",
               .path = "/execute",
               .tag = "compatibility",
               .summary = "Runs a program in a jar of its own, or calls a tool",
               .description = "With `code` it runs a program; with `tool` it calls one, which may "
                              "take other rights.",
               .rights = {Right::RunExec},
               .bodies = {{.schema = either(reference("RunArguments"), tool_call_schema())}},
               .answers = {{.description = "What became of it.",
                            .content = {{.schema = either(reference("RunResult"),
                                                          tool_answer_schema())}}}},
               .handler = [this](Call call) { return execute(std::move(call)); }});
}

void RunRoutes::add_others(OperationTable& table) {
    table.add({.id = "createRuns",
               .method = "POST",
               .path = "/v1/runs:batch",
               .tag = "runs",
               .summary = "Runs several programs, some of them at once",
               .rights = {Right::RunExec},
               .bodies = {{.schema = reference("Batch")}},
               .answers = {answer_in("BatchResult", "What became of each, in their order.")},
               .handler = [this](Call call) { return execute_batch(std::move(call)); }});
    table.add({.id = "previewRun",
               .method = "POST",
               .path = "/v1/policy/preview",
               .tag = "policy",
               .summary = "What would be decided about a run, without running it",
               .description = "Whether it would be allowed, under which limits and how well it "
                              "would be isolated; or why it would be refused. Whether there is "
                              "room for it now is not asked.",
               .rights = {Right::RunExec},
               .bodies = {{.schema = reference("RunArguments")}},
               .answers = {answer_in("Preview", "The decision.")},
               .handler = [this](Call call) { return preview(std::move(call)); }});
    table.add({.id = "watchRuns",
               .method = "GET",
               .path = "/mcp/events",
               .tag = "runs",
               .summary = "What happens to the caller's runs, as server-sent events",
               .description = "With alerts about the caller; who may operate or read the audit "
                              "trail gets those about everybody.",
               .parameters = {query_parameter("output", "Whether to show what programs write.",
                                              {{"enum", json::array{"0", "1", "true", "false"}}}),
                              header_parameter("Last-Event-ID", "To go on behind that event.")},
               .answers = {{.description = "Events until the caller leaves.",
                            .content = {{.media_type = "text/event-stream",
                                         .schema = {{"type", "string"}}}}}},
               .handler = [this](Call call) {
                   return watch_.watch(std::move(call.request), std::move(call.cancellation));
               }});
}

Task<HttpResponse> RunRoutes::create(Call call) {
    std::expected<Wish, HttpResponse> wish = admit(call.request);
    if (!wish) {
        co_return std::move(wish.error());
    }
    const bool by_header = prefers_async(call.request);
    if (wish->background || by_header) {
        HttpResponse begun = co_await start(std::move(wish->run));
        if (by_header && begun.status == 202) {
            begun.headers.emplace_back("Preference-Applied", "respond-async");
        }
        co_return begun;
    }
    if (call.request.stream && access::wants_events(call.request)) {
        HttpResponse streamed = co_await stream_run(
            std::move(wish->run), std::move(call.cancellation), std::move(call.request.stream));
        co_return streamed;
    }
    HttpResponse done = co_await finish(std::move(wish->run), std::move(call.cancellation));
    co_return done;
}

Task<HttpResponse> RunRoutes::execute(Call call) {
    std::expected<Wish, HttpResponse> wish = admit(call.request);
    if (!wish) {
        co_return std::move(wish.error());
    }
    if (wish->background) {
        co_return access::make_refusal(400, "\"background\" is for POST /v1/runs alone");
    }
    HttpResponse done = co_await finish(std::move(wish->run), std::move(call.cancellation));
    co_return done;
}

Task<HttpResponse> RunRoutes::start(execution::RunRequest run) {
    // What would be refused anyway is refused now, while somebody listens.
    const Result<engine::RunPreview> allowed = co_await executor_.preview(run);
    if (!allowed) {
        co_return refuse(allowed.error());
    }
    const Result<execution::RunView> view = co_await executor_.runs().start(std::move(run));
    if (!view) {
        co_return refuse(view.error());
    }
    co_return HttpResponse{.status = 202,
                           .headers = {{"Location", "/v1/runs/" + view->execution_id}},
                           .body = to_text(run_json(*view))};
}

Task<HttpResponse> RunRoutes::finish(execution::RunRequest run,
                                     engine::CancellationPtr cancellation) {
    const Result<execution::RunResult> result =
        co_await executor_.execute(std::move(run), std::move(cancellation));
    co_return result ? make_answer(*result) : refuse(result.error());
}

// Until the run has its place, a refusal is an answer like any other.
Task<HttpResponse> RunRoutes::stream_run(execution::RunRequest run,
                                         engine::CancellationPtr cancellation,
                                         access::ResponseStreamPtr stream) {
    RunEvents events(stream);
    Result<execution::RunResult> result =
        co_await executor_.execute(std::move(run), std::move(cancellation), events.watch());
    if (!stream->is_open()) {
        co_return result ? make_answer(*result) : refuse(result.error());
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
    for (Result<execution::RunRequest>& run : batch->runs) {
        if (run) {
            access::set_origin(*run, request);
        }
    }
    if (uses_sessions(*batch) && !access::allows(request.rights, for_sessions())) {
        co_return access::insufficient_scope(request, for_sessions());
    }
    const engine::BatchResult result = co_await engine::run_batch(
        &executor_, std::move(*batch), std::move(request.principal), call.cancellation, nullptr);
    HttpResponse answer = make_answer(engine::to_json(result));
    answer.cut_short = call.cancellation->requested() && !engine::succeeded(result);
    co_return answer;
}

Task<HttpResponse> RunRoutes::preview(Call call) {
    if (!is_json(call.request)) {
        co_return refuse_media_type();
    }
    const Result<json::object> arguments = read_object(call.request.body, kExample);
    if (!arguments) {
        co_return refuse(arguments.error());
    }
    Result<execution::RunRequest> run = engine::parse_run_arguments(*arguments);
    if (!run) {
        co_return make_answer(preview_json(fail(run.error())));
    }
    access::set_origin(*run, call.request);
    const Result<engine::RunPreview> preview = co_await executor_.preview(std::move(*run));
    co_return make_answer(preview_json(preview));
}

}  // namespace belljar::api
