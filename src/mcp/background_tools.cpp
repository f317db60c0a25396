#include "mcp/background_tools.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "execution/error_wire.h"
#include "mcp/output_content.h"
#include "mcp/text_view.h"
#include "mcp/tool_schemas.h"
#include "outcome/result_json.h"

namespace belljar::mcp {
namespace {

constexpr std::string_view kStartOutput = R"({
  "type": "object",
  "properties": {
    "run_id": {"type": "string", "description": "For poll_run and cancel_run; keep it."},
    "status": {"type": "string", "enum": ["running"]}
  },
  "required": ["run_id", "status"]
})";

constexpr std::string_view kRunId = R"({
  "type": "string",
  "minLength": 1,
  "maxLength": 64,
  "description": "As start_run has given it."
})";

constexpr std::string_view kPollInput = R"({
  "type": "object",
  "properties": {
    "wait_seconds": {
      "type": "number",
      "minimum": 0,
      "maximum": 50,
      "default": 10,
      "description": "How long to wait for the end before answering."
    },
    "since": {
      "type": "integer",
      "minimum": 0,
      "default": 0,
      "description": "Give only output behind this position: the next of the last answer."
    }
  },
  "required": ["run_id"],
  "additionalProperties": false
})";

constexpr std::string_view kCancelInput = R"({
  "type": "object",
  "properties": {},
  "required": ["run_id"],
  "additionalProperties": false
})";

constexpr std::string_view kPollOutput = R"({
  "type": "object",
  "properties": {
    "run_id": {"type": "string"},
    "status": {
      "type": "string",
      "enum": ["running", "ended", "refused"],
      "description": "ended: result tells how; refused: it could not be run, error tells why."
    },
    "execution_id": {"type": "string", "description": "Once the program has begun."},
    "seconds": {"type": "number", "description": "Since it was started."},
    "output": {
      "type": "string",
      "description": "What the program has written to stdout and stderr, in order, while it runs."
    },
    "output_omitted": {
      "type": "integer",
      "description": "Bytes before output that are too much to be shown."
    },
    "next": {"type": "integer", "description": "The since of the next poll_run."},
    "result": {"type": "object", "description": "The record, as execute_code returns it."},
    "error": {"type": "string"}
  },
  "required": ["run_id", "status", "seconds"]
})";

json::object input_with_id(std::string_view text) {
    json::object input = schema_from(text);
    input.at("properties").as_object()["run_id"] = schema_from(kRunId);
    return input;
}

ToolDefinition define_start(const ToolDefinition& execute_code) {
    constexpr std::string_view kTitle = "Start a long run";
    return {.name = "start_run",
            .title = std::string(kTitle),
            .description =
                "Begins a program as execute_code does, with the same arguments, but answers at "
                "once with a run_id instead of waiting for the end. Use it for what takes longer "
                "than about a minute, and pass timeout, because the usual limit of time holds "
                "here, too. Then call poll_run with the run_id until status is ended, or "
                "cancel_run. The run_id is valid for one hour and for you alone. Example: "
                "{\"code\": \"import time\\ntime.sleep(120)\\nprint('done')\", \"timeout\": 180}",
            .input_schema = execute_code.input_schema,
            .output_schema = schema_from(kStartOutput),
            .annotations = annotations_for(kTitle, Effect::Adds),
            .icon = icon_of(Symbol::Clock)};
}

ToolDefinition define_poll() {
    constexpr std::string_view kTitle = "Look at a long run";
    return {.name = "poll_run",
            .title = std::string(kTitle),
            .description =
                "Waits for the end of a run that start_run has begun and gives its result. If it "
                "still runs after wait_seconds (10 unless given, at most 50), status is running "
                "and output holds the end of what it has written so far; pass the next of that "
                "answer as since to be given only what is new. When status is ended, result is "
                "the record that execute_code would have returned. Example: {\"run_id\": \"...\", "
                "\"wait_seconds\": 30}",
            .input_schema = input_with_id(kPollInput),
            .output_schema = schema_from(kPollOutput),
            .annotations = annotations_for(kTitle, Effect::Nothing),
            .icon = icon_of(Symbol::Clock)};
}

ToolDefinition define_cancel() {
    constexpr std::string_view kTitle = "Stop a long run";
    return {.name = "cancel_run",
            .title = std::string(kTitle),
            .description =
                "Stops a run that start_run has begun, with all its processes, and "
                "gives what it has written until then. A run that has ended already "
                "stays as it is. Example: {\"run_id\": \"...\"}",
            .input_schema = input_with_id(kCancelInput),
            .output_schema = schema_from(kPollOutput),
            .annotations = annotations_for(kTitle, Effect::Destroys),
            .icon = icon_of(Symbol::Clock)};
}

ToolOutcome show_running(const BackgroundRun& run, json::object shown, std::uint64_t since) {
    const OutputTail::Shown output = run.output.since(since);
    shown["status"] = "running";
    shown["output"] = output.text;
    shown["output_omitted"] = output.omitted;
    shown["next"] = output.next;
    std::string text = output.omitted > 0
                           ? fmt::format("[{} bytes left out]\n{}", output.omitted, output.text)
                           : output.text;
    if (!text.empty() && !text.ends_with('\n')) {
        text += '\n';
    }
    text += fmt::format("[running for {:.0f} s; call poll_run again with run_id {} and since {}]",
                        shown.at("seconds").as_double(), run.id, output.next);
    return {.text = std::move(text), .structured = std::move(shown)};
}

}  // namespace

std::vector<ToolDefinition> define_background_tools(const ToolDefinition& execute_code) {
    return {define_start(execute_code), define_poll(), define_cancel()};
}

ToolOutcome show_background_run(const BackgroundRun& run, std::uint64_t since) {
    const Duration age = std::chrono::steady_clock::now() - run.begun;
    json::object shown{{"run_id", run.id}, {"status", "ended"}, {"seconds", to_seconds(age)}};
    if (!run.execution_id.empty()) {
        shown["execution_id"] = run.execution_id;
    }
    if (!run.ended) {
        return show_running(run, std::move(shown), since);
    }
    if (!*run.ended) {
        const Error& error = run.ended->error();
        std::string message = execution::client_message(error);
        shown["status"] = "refused";
        shown["error"] = message;
        return {.text = std::move(message),
                .structured = std::move(shown),
                .failed = true,
                .retry_after = error.retry_after};
    }
    const execution::RunResult& result = **run.ended;
    shown["result"] = outcome::to_json(result);
    return {.text = text_view(result, run.form),
            .more = content_of(result, run.form),
            .structured = std::move(shown),
            .failed = !result.success()};
}

}  // namespace belljar::mcp
