#include "mcp/tool_schemas.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/assert.h"

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
    "use_container": {"type": "boolean"},
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
      "items": {"type": "object", "description": "One representation per MIME type."}
    },
    "files": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "name": {"type": "string"},
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
        "of a final expression (after =>), and, if the run failed, the cause and what to do about "
        "it; the structured result adds exit code, resource use and the isolation that held. "
        "Limits unless changed per call: {:g} s and {} of memory; output beyond {} per stream is "
        "cut in the middle. Example: {{\"code\": \"import statistics\\nstatistics.mean([1, 2, "
        "4])\"}}",
        language_names(info), to_seconds(info.default_limits.timeout),
        format_bytes(info.default_limits.memory), format_bytes(info.default_limits.output));
}

void describe(json::object& schema, std::string_view property, std::string_view description) {
    schema.at("properties").as_object().at(property).as_object()["description"] = description;
}

}  // namespace

ToolDefinition define_execute_code(const engine::SandboxInfo& info) {
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
    describe(input, "files",
             "Files to put into /workspace, where the program starts: relative path to text, or to "
             "{\"base64\": \"...\"} for binary content.");
    describe(input, "allowed_imports",
             "Top-level modules that the program itself may import; others raise ImportError. A "
             "check on your own code, not the fence around it. If left out, any.");
    describe(input, "use_container",
             "Changes nothing: every run is kept apart at least as a container would keep it; the "
             "result says how, in isolation.tier.");
    return {.name = "execute_code",
            .title = "Run code in a sandbox",
            .description = execute_code_description(info),
            .input_schema = std::move(input),
            .output_schema = literal(kExecuteCodeOutput),
            .annotations = {{"title", "Run code in a sandbox"},
                            {"readOnlyHint", false},
                            {"destructiveHint", false},
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
