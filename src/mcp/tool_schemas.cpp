#include "mcp/tool_schemas.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/assert.h"
#include "engine/batch.h"

namespace belljar::mcp {
namespace {

// No "$schema" member: validators of older clients refuse a dialect that they do not know.
constexpr std::string_view kExecuteCodeInput = R"({
  "type": "object",
  "properties": {
    "code": {"type": "string", "description": "The program text."},
    "language": {"type": "string", "default": "python"},
    "timeout": {"type": "number", "exclusiveMinimum": 0},
    "memory_limit": {"type": "string"},
    "cpu": {"type": "number", "exclusiveMinimum": 0},
    "processes": {"type": "integer", "minimum": 1},
    "max_output": {"type": "string"},
    "stdin": {"type": "string", "description": "Text the program reads from standard input."},
    "args": {
      "type": "array",
      "items": {"type": "string"},
      "description": "Command line arguments of the program."
    },
    "env": {
      "type": "object",
      "additionalProperties": {"type": "string"},
      "description": "Environment variables of the program."
    },
    "files": {
      "type": "object",
      "additionalProperties": {
        "anyOf": [
          {"type": "string"},
          {
            "type": "object",
            "properties": {"base64": {"type": "string"}},
            "required": ["base64"],
            "additionalProperties": false
          }
        ]
      }
    },
    "allowed_imports": {"type": "array", "items": {"type": "string"}},
    "session": {"type": "boolean", "default": false},
    "session_id": {"type": "string", "description": "Run in the session of this id."},
    "conversation_id": {"type": "string"},
    "use_container": {"type": "boolean"},
    "output": {"type": "string", "enum": ["compact", "full"], "default": "compact"},
    "debug": {"type": "boolean", "description": "Tell in debug where the time of the run went."}
  },
  "required": ["code"],
  "additionalProperties": false
})";

constexpr std::string_view kExecuteCodeOutput = R"({
  "type": "object",
  "properties": {
    "execution_id": {"type": "string"},
    "conversation_id": {"type": "string"},
    "session_id": {"type": "string"},
    "session": {
      "type": "object",
      "properties": {
        "cell": {"type": "integer"},
        "state": {
          "type": "string",
          "enum": ["kept", "rolled_back", "lost"],
          "description": "Of the variables: as the cell left them, as before it, or gone."
        },
        "notes": {"type": "array", "items": {"type": "string"}}
      },
      "required": ["cell", "state", "notes"]
    },
    "language": {"type": "string"},
    "runner": {"type": "string"},
    "status": {
      "type": "string",
      "enum": ["ok", "error", "timeout", "memory", "processes", "disk", "output", "killed",
               "denied", "cancelled"]
    },
    "success": {"type": "boolean", "description": "True if status is ok."},
    "exit_code": {"type": ["integer", "null"]},
    "signal": {"type": "integer"},
    "stdout": {"type": "string"},
    "stderr": {"type": "string"},
    "stdout_truncated": {"type": "boolean"},
    "stderr_truncated": {"type": "boolean"},
    "stdout_bytes": {"type": "integer", "description": "Bytes written, shown or not."},
    "stderr_bytes": {"type": "integer"},
    "full_output": {
      "type": "string",
      "description": "URI of the uncut streams, if one was cut and they were kept."
    },
    "result": {"description": "The last expression's value, if it is JSON; otherwise null."},
    "result_repr": {"type": ["string", "null"]},
    "variables": {"type": "array", "items": {"type": "string"}},
    "outputs": {
      "type": "array",
      "items": {
        "type": "object",
        "description": "One representation per MIME type; pictures in base64."
      }
    },
    "outputs_omitted": {
      "type": "integer",
      "description": "Representations that were too many, too large or not what they should be."
    },
    "report": {
      "type": "string",
      "enum": ["missing", "damaged"],
      "description": "Why there are no values: the program ended without a report, or broke it."
    },
    "files": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "name": {"type": "string"},
          "change": {"type": "string", "enum": ["created", "changed", "deleted"]},
          "size": {"type": "integer"},
          "mime": {"type": "string"},
          "sha256": {"type": "string"},
          "url": {"type": "string"},
          "uri": {"type": "string"}
        },
        "required": ["name", "size", "mime", "sha256", "url", "uri"]
      }
    },
    "error": {
      "type": "object",
      "properties": {
        "type": {"type": "string"},
        "message": {"type": "string"},
        "line": {"type": "integer"},
        "traceback": {"type": "string"}
      },
      "required": ["type", "message"]
    },
    "denials": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "what": {"type": "string"},
          "rule": {"type": "string"},
          "hint": {"type": "string"},
          "source": {
            "type": "string",
            "enum": ["limit", "kernel", "guest"],
            "description": "Who says so; guest is only the program's own word."
          }
        },
        "required": ["what", "rule", "hint", "source"]
      }
    },
    "capped": {
      "type": "object",
      "description": "Limits of which less was given than asked for, by argument.",
      "additionalProperties": {
        "type": "object",
        "properties": {
          "asked": {"type": ["number", "string"]},
          "given": {"type": ["number", "string"]}
        },
        "required": ["asked", "given"]
      }
    },
    "usage": {
      "type": "object",
      "properties": {
        "wall_seconds": {"type": "number"},
        "cpu_seconds": {"type": "number"},
        "memory_peak_bytes": {"type": "integer"},
        "disk_written_bytes": {"type": "integer"},
        "processes_peak": {"type": "integer"}
      },
      "required": ["wall_seconds", "cpu_seconds", "memory_peak_bytes", "disk_written_bytes",
                   "processes_peak"]
    },
    "isolation": {
      "type": "object",
      "properties": {
        "grade": {"type": "string"},
        "tier": {"type": "string"},
        "missing": {"type": "array", "items": {"type": "string"}}
      },
      "required": ["grade", "tier", "missing"]
    },
    "execution_time": {"type": "number", "description": "Seconds, as usage.wall_seconds."},
    "debug": {
      "type": "object",
      "properties": {
        "admission_milliseconds": {"type": "number"},
        "jar_milliseconds": {"type": "number"},
        "guest_start_milliseconds": {"type": "number"},
        "run_milliseconds": {"type": "number"},
        "collect_milliseconds": {"type": "number"},
        "record_milliseconds": {"type": "number"},
        "jar_ready": {"type": "boolean", "description": "Whether a sandbox was waiting already."}
      },
      "required": ["admission_milliseconds", "jar_milliseconds", "guest_start_milliseconds",
                   "run_milliseconds", "collect_milliseconds", "record_milliseconds", "jar_ready"]
    }
  },
  "required": ["execution_id", "language", "runner", "status", "success", "exit_code", "stdout",
               "stderr", "stdout_truncated", "stderr_truncated", "stdout_bytes", "stderr_bytes",
               "result", "result_repr", "variables", "outputs", "files", "denials", "usage",
               "isolation", "execution_time"]
})";

constexpr std::string_view kManageSessionInput = R"({
  "type": "object",
  "properties": {
    "action": {"type": "string", "enum": ["list", "undo", "fork", "diff", "reset", "end"]},
    "session_id": {"type": "string", "description": "Needed for all but list."},
    "cells": {
      "type": "integer",
      "minimum": 1,
      "default": 1,
      "description": "For undo and diff: how many cells back."
    }
  },
  "required": ["action"],
  "additionalProperties": false
})";

constexpr std::string_view kManageSessionOutput = R"({
  "type": "object",
  "properties": {
    "sessions": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "session_id": {"type": "string"},
          "language": {"type": "string"},
          "conversation_id": {"type": "string"},
          "cells": {"type": "integer", "description": "Run so far."},
          "busy": {"type": "boolean"},
          "idle_seconds": {"type": "number"},
          "expires_in_seconds": {"type": "number"},
          "checkpoints": {"type": "boolean", "description": "Whether cells can be undone."},
          "forked_from": {"type": "string"},
          "diff": {
            "type": "object",
            "properties": {
              "variables": {"type": "object"},
              "files": {"type": "object"}
            },
            "required": ["variables", "files"]
          }
        },
        "required": ["session_id", "language", "cells", "busy", "idle_seconds",
                     "expires_in_seconds", "checkpoints"]
      }
    }
  },
  "required": ["sessions"]
})";

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

constexpr std::string_view kSandboxInfoInput =
    R"({"type": "object", "properties": {}, "additionalProperties": false})";

constexpr std::string_view kSandboxInfoOutput = R"({
  "type": "object",
  "properties": {
    "version": {"type": "string"},
    "languages": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "language": {"type": "string"},
          "aliases": {"type": "array", "items": {"type": "string"}},
          "version": {"type": "string"}
        },
        "required": ["language", "aliases", "version"]
      }
    },
    "limits": {
      "type": "object",
      "properties": {
        "default": {"type": "object", "additionalProperties": {"type": "number"}},
        "maximum": {"type": "object", "additionalProperties": {"type": "number"}}
      },
      "required": ["default", "maximum"]
    },
    "isolation": {
      "type": "object",
      "properties": {
        "grade": {"type": "string"},
        "tier": {"type": "string"},
        "missing": {"type": "array", "items": {"type": "string"}}
      },
      "required": ["grade", "tier", "missing"]
    },
    "protocol_versions": {"type": "array", "items": {"type": "string"}},
    "network": {"type": "string", "enum": ["none"]}
  },
  "required": ["version", "languages", "limits", "isolation", "protocol_versions", "network"]
})";

json::object literal(std::string_view text) {
    Result<json::value> value = parse_json(text);
    BJ_ASSERT(value.has_value() && value->is_object());
    return std::move(value->get_object());
}

std::string language_names(const engine::SandboxInfo& info) {
    std::vector<std::string> names;
    names.reserve(info.runners.size());
    for (const engine::SandboxInfo::Runner& runner : info.runners) {
        if (runner.usable) {
            names.push_back(runner.language);
        }
    }
    return names.empty() ? "none at the moment" : fmt::format("{}", fmt::join(names, ", "));
}

std::string execute_code_description(const engine::SandboxInfo& info) {
    return fmt::format(
        "Runs a program in a fresh, isolated sandbox and returns what it printed. Use it to "
        "calculate, to test code, or to parse and transform data, rather than predicting what code "
        "would do. Languages: {}. Ordinary programs work: threads, subprocesses, files. Every call "
        "starts from nothing: no state, files or packages remain from earlier calls, and there is "
        "no network, so pass all input as code, stdin or files. You get stdout, stderr, the value "
        "of a final expression (after =>), figures as pictures, and, if the run failed, the cause "
        "and what to do about "
        "it; the structured result adds exit code, resource use and the isolation that held. "
        "Limits unless changed per call: {:g} s and {} of memory (what exceeds the largest "
        "allowed is lowered, and capped in the result says so); output beyond {} per stream is "
        "cut in the middle. Example: {{\"code\": \"import statistics\\nstatistics.mean([1, 2, "
        "4])\"}}",
        language_names(info), to_seconds(info.default_limits.timeout),
        format_bytes(info.default_limits.memory), format_bytes(info.default_limits.output));
}

void describe(json::object& schema, std::string_view property, std::string_view description) {
    schema.at("properties").as_object().at(property).as_object()["description"] = description;
}

// The arguments of one run, with what this installation allows.
json::object describe_run(const engine::SandboxInfo& info) {
    json::object input = literal(kExecuteCodeInput);
    describe(input, "language", fmt::format("One of: {}.", language_names(info)));
    describe(input, "timeout",
             fmt::format("Seconds of running time, {:g} by default, at most {:g}.",
                         to_seconds(info.default_limits.timeout),
                         to_seconds(info.maximum_limits.timeout)));
    describe(input, "memory_limit",
             fmt::format("A size such as \"64m\" or \"1g\"; \"{}\" by default, at most \"{}\".",
                         format_bytes(info.default_limits.memory),
                         format_bytes(info.maximum_limits.memory)));
    describe(input, "cpu",
             fmt::format("Cores that the program keeps when others compete, {:g} by default, at "
                         "most {:g}; idle cores may be used beyond it.",
                         info.default_limits.cpu, info.maximum_limits.cpu));
    describe(input, "processes",
             fmt::format("Processes and threads alive at once, {} by default, at most {}.",
                         info.default_limits.processes, info.maximum_limits.processes));
    describe(input, "max_output",
             fmt::format("Size of each output stream in the result, such as \"64k\"; \"{}\" by "
                         "default, at most \"{}\". More is cut in the middle.",
                         format_bytes(info.default_limits.output),
                         format_bytes(info.maximum_limits.output)));
    describe(input, "files",
             "Files to put into /workspace, where the program starts: relative path to text, or to "
             "{\"base64\": \"...\"} for binary content.");
    describe(input, "output",
             "How figures, tables and other outputs are shown to you: each in its best form, or in "
             "every form that is a picture or text.");
    describe(input, "allowed_imports",
             "Top-level modules that the program itself may import; others raise ImportError. A "
             "check on your own code, not the fence around it. If left out, any.");
    describe(input, "session",
             "True keeps the interpreter: the result's session_id, given to later calls, lets them "
             "go on with its variables and imports. A call that crashes or runs out of time costs "
             "only itself: the state before it stays.");
    describe(input, "conversation_id",
             "With session: the conversation whose session it is, so that no id has to be kept.");
    describe(input, "use_container",
             "Changes nothing: every run is kept apart at least as a container would keep it; the "
             "result says how, in isolation.tier.");
    return input;
}

json::object describe_batch(const engine::SandboxInfo& info) {
    json::object input = literal(kExecuteBatchInput);
    json::object& properties = input.at("properties").as_object();
    properties.at("runs").as_object()["maxItems"] = engine::kLongestBatch;
    properties.at("parallel").as_object()["maximum"] = engine::kLongestBatch;
    describe(input, "parallel",
             fmt::format("Programs at once; at most {} are, whatever is asked for.",
                         info.batch_parallel));
    return input;
}

json::object running_annotations(std::string_view title) {
    return {{"title", title},
            {"readOnlyHint", false},
            {"destructiveHint", false},
            {"idempotentHint", false},
            {"openWorldHint", false}};
}

}  // namespace

ToolDefinition define_execute_code(const engine::SandboxInfo& info) {
    constexpr std::string_view kTitle = "Run code in a sandbox";
    return {.name = "execute_code",
            .title = std::string(kTitle),
            .description = execute_code_description(info),
            .input_schema = describe_run(info),
            .output_schema = literal(kExecuteCodeOutput),
            .annotations = running_annotations(kTitle)};
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
            .input_schema = describe_batch(info),
            .output_schema = literal(kExecuteBatchOutput),
            .annotations = running_annotations(kTitle)};
}

ToolDefinition define_manage_session() {
    return {.name = "manage_session",
            .title = "Go back in a session, copy or end it",
            .description =
                "Works on the sessions that execute_code keeps with session: true. list shows "
                "them; undo brings the variables back to what they were some cells ago; fork gives "
                "a second session with the same variables, to try something out; diff says which "
                "variables and files the last cells changed; reset forgets all variables; end ends "
                "the session. Files in /workspace are not brought back by undo, and are shared by "
                "forks. Example: {\"action\": \"undo\", \"session_id\": \"...\", \"cells\": 2}",
            .input_schema = literal(kManageSessionInput),
            .output_schema = literal(kManageSessionOutput),
            .annotations = {{"title", "Go back in a session, copy or end it"},
                            {"readOnlyHint", false},
                            {"destructiveHint", true},
                            {"idempotentHint", false},
                            {"openWorldHint", false}}};
}

ToolDefinition define_get_sandbox_info() {
    return {
        .name = "get_sandbox_info",
        .title = "Describe the sandbox",
        .description =
            "Tells what execute_code offers here: languages with their versions and accepted "
            "names, default and largest limits, and how strongly runs are isolated. Use it once "
            "before relying on a language or asking for more than the default limits. Takes no "
            "arguments and changes nothing. Example: {}",
        .input_schema = literal(kSandboxInfoInput),
        .output_schema = literal(kSandboxInfoOutput),
        .annotations = {{"title", "Describe the sandbox"},
                        {"readOnlyHint", true},
                        {"destructiveHint", false},
                        {"idempotentHint", true},
                        {"openWorldHint", false}}};
}

}  // namespace belljar::mcp
