#include "mcp/run_schema.h"

#include <fmt/format.h>

#include "mcp/tool_schemas.h"

namespace belljar::mcp {
namespace {

constexpr std::string_view kInput = R"({
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
      "maxItems": 1024,
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
    "capture_output": {
      "type": "boolean",
      "default": true,
      "description": "Changes nothing: output is always captured."
    },
    "profile": {"type": "string", "enum": ["standard"]},
    "network": {
      "type": "boolean",
      "default": false,
      "description": "Only false: programs have no network here."
    },
    "session": {"type": "boolean", "default": false},
    "session_id": {
      "type": "string",
      "maxLength": 128,
      "description": "Run in the session of this id."
    },
    "conversation_id": {"type": "string"},
    "conversationId": {"type": "string", "description": "Another spelling of conversation_id."},
    "use_container": {"type": "boolean"},
    "output": {"type": "string", "enum": ["compact", "full"], "default": "compact"},
    "debug": {"type": "boolean", "description": "Tell in debug where the time of the run went."}
  },
  "required": ["code"],
  "additionalProperties": false
})";

constexpr std::string_view kOutput = R"({
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

}  // namespace

json::object run_input_schema(const engine::SandboxInfo& info) {
    json::object input = schema_from(kInput);
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
             "A name of your choice: runs that give the same one find the files in /workspace that "
             "the others left. With session: whose session it is, so that no id has to be kept.");
    describe(input, "use_container",
             "Changes nothing: every run is kept apart at least as a container would keep it; the "
             "result says how, in isolation.tier.");
    return input;
}

json::object run_output_schema() { return schema_from(kOutput); }

}  // namespace belljar::mcp
