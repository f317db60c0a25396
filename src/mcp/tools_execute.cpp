#include "mcp/tools_execute.h"

#include <fmt/format.h>

#include <boost/asio/this_coro.hpp>

#include "engine/batch.h"
#include "engine/run_arguments.h"
#include "mcp/output_content.h"
#include "mcp/run_notices.h"
#include "mcp/run_schema.h"
#include "mcp/text_view.h"
#include "mcp/tool_schemas.h"
#include "outcome/result_json.h"

namespace belljar::mcp {
namespace {

constexpr std::string_view kExecuteBatchInput = R"({
  "type": "object",
  "properties": {
    "runs": {
      "type": "array",
      "minItems": 1,
      "items": {
        "type": "object",
        "description": "The arguments of execute_code, all of which may be given here.",
        "properties": {"code": {"type": "string"}, "language": {"type": "string"}},
        "required": ["code"]
      }
    },
    "stop_on_error": {
      "type": "boolean",
      "default": false,
      "description": "Whether to begin nothing more once one has failed."
    },
    "parallel": {"type": "integer", "minimum": 1}
  },
  "required": ["runs"],
  "additionalProperties": false
})";

constexpr std::string_view kExecuteBatchOutput = R"({
  "type": "object",
  "properties": {
    "success": {"type": "boolean", "description": "True if all ran and ended with status ok."},
    "succeeded": {"type": "integer"},
    "failed": {"type": "integer", "description": "Ran, but not to a good end."},
    "refused": {"type": "integer", "description": "Could not be run."},
    "skipped": {"type": "integer", "description": "Not begun, after one that failed."},
    "results": {
      "type": "array",
      "description": "One for each element of runs, in that order.",
      "items": {
        "type": "object",
        "properties": {
          "index": {"type": "integer"},
          "state": {"type": "string", "enum": ["ran", "refused", "skipped"]},
          "result": {"type": "object", "description": "As execute_code returns it, if it ran."},
          "error": {"type": "string", "description": "Why it was refused."},
          "code": {"type": "string"},
          "retry_after_seconds": {"type": "integer"}
        },
        "required": ["index", "state"]
      }
    }
  },
  "required": ["success", "succeeded", "failed", "refused", "skipped", "results"]
})";

std::string execute_code_description(const engine::SandboxInfo& info) {
    return fmt::format(
        "Runs a program in a fresh, isolated sandbox and returns what it printed. Use it to "
        "calculate, to test code, or to parse and transform data, rather than predicting what code "
        "would do. Languages: {}. Ordinary programs work: threads, subprocesses, files. Every call "
        "starts from nothing and there is no network, so pass all input as code, stdin or files; "
        "session keeps variables between calls, conversation_id keeps the files in /workspace. You "
        "get stdout, stderr, the value of a final expression (after =>), figures as pictures, "
        "links to long output and to files, and, if the run failed, the cause and what to do about "
        "it; the structured result adds exit code, resource use and the isolation that held. "
        "Limits unless changed per call: {:g} s and {} of memory (what exceeds the largest "
        "allowed is lowered, and capped in the result says so); output beyond {} per stream is "
        "cut in the middle. Example: {{\"code\": \"import statistics\\nstatistics.mean([1, 2, "
        "4])\"}}",
        language_names(info), to_seconds(info.default_limits.timeout),
        format_bytes(info.default_limits.memory), format_bytes(info.default_limits.output));
}

json::object batch_input_schema(const engine::SandboxInfo& info) {
    json::object input = schema_from(kExecuteBatchInput);
    json::object& properties = input.at("properties").as_object();
    properties.at("runs").as_object()["maxItems"] = engine::kLongestBatch;
    properties.at("parallel").as_object()["maximum"] = engine::kLongestBatch;
    describe_member(input, "parallel",
                    fmt::format("Programs at once; at most {} are, whatever is asked for.",
                                info.batch_parallel));
    return input;
}

// Nothing if nobody wants to hear of it.
std::shared_ptr<RunNotices> make_notices(const asio::any_io_executor& io, const ToolCall& call) {
    return call.notify && call.wishes.any()
               ? std::make_shared<RunNotices>(io, call.wishes, call.notify)
               : nullptr;
}

}  // namespace

ToolDefinition define_execute_code(const engine::SandboxInfo& info) {
    constexpr std::string_view kTitle = "Run code in a sandbox";
    return {.name = "execute_code",
            .title = std::string(kTitle),
            .description = execute_code_description(info),
            .input_schema = run_input_schema(info),
            .output_schema = run_output_schema(),
            .annotations = annotations_for(kTitle, Effect::Adds),
            .tasks = TaskUse::WhenLong,
            .icon = icon_of(Symbol::Play)};
}

ToolDefinition define_execute_batch(const engine::SandboxInfo& info) {
    constexpr std::string_view kTitle = "Run many programs in sandboxes";
    return {.name = "execute_batch",
            .title = std::string(kTitle),
            .description = fmt::format(
                "Runs up to {} programs, each in a fresh sandbox of its own and several at once, "
                "and returns their results in the order given. Use it in place of many calls of "
                "execute_code when the programs do not depend on each other: to try variants, to "
                "check many inputs, to run tests. Each element of runs takes the arguments of "
                "execute_code. Nothing is shared between them. An element that could not be run "
                "carries its error in its place; with stop_on_error, those behind the first that "
                "fails are cancelled or skipped. Example: {{\"runs\": [{{\"code\": \"6*7\"}}, "
                "{{\"code\": \"print('hi')\"}}]}}",
                engine::kLongestBatch),
            .input_schema = batch_input_schema(info),
            .output_schema = schema_from(kExecuteBatchOutput),
            .annotations = annotations_for(kTitle, Effect::Adds),
            .tasks = TaskUse::WhenLong,
            .icon = icon_of(Symbol::Stack)};
}

Task<Result<ToolOutcome>> execute_code(ToolContext context, ToolCall call,
                                       engine::CancellationPtr cancellation) {
    BJ_CO_TRY(execution::RunRequest request, engine::parse_run_arguments(call.arguments));
    request.principal = std::move(call.principal);
    mark(request, call);
    request.approved_by = std::move(call.approved_by);
    const execution::OutputForm form = request.output_form;
    const auto io = co_await asio::this_coro::executor;
    const std::shared_ptr<RunNotices> notices = make_notices(io, call);
    Result<execution::RunResult> ended =
        co_await context.executor->execute(std::move(request), std::move(cancellation),
                                           notices ? notices->watch() : engine::RunWatch{});
    if (notices) {
        notices->finish();
    }
    BJ_CO_TRY(const execution::RunResult result, std::move(ended));
    co_return ToolOutcome{.text = text_view(result, form),
                          .more = content_of(result, form),
                          .structured = outcome::to_json(result),
                          .failed = !result.success()};
}

Task<Result<ToolOutcome>> execute_batch(ToolContext context, ToolCall call,
                                        engine::CancellationPtr cancellation) {
    BJ_CO_TRY(engine::Batch batch, engine::parse_batch_arguments(call.arguments));
    for (Result<execution::RunRequest>& run : batch.runs) {
        if (run) {
            mark(*run, call);
        }
    }
    const auto io = co_await asio::this_coro::executor;
    const std::shared_ptr<RunNotices> notices = make_notices(io, call);
    std::function<void(std::size_t)> on_progress;
    if (notices) {
        on_progress = [notices, total = batch.runs.size()](std::size_t over) {
            notices->advance(over, total);
        };
    }
    const engine::BatchResult result =
        co_await engine::run_batch(context.executor, std::move(batch), std::move(call.principal),
                                   std::move(cancellation), std::move(on_progress));
    if (notices) {
        notices->finish();
    }
    co_return ToolOutcome{.text = text_view(result),
                          .structured = engine::to_json(result),
                          .failed = !engine::succeeded(result)};
}

}  // namespace belljar::mcp
