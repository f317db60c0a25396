#include "outcome/result_schema.h"

#include "base/json_schema.h"

namespace belljar::outcome {
namespace {

constexpr std::string_view kResult = R"({
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
    "file_access": {
      "type": "object",
      "description": "What happened to the conversation's files, from the side of the kernel.",
      "properties": {
        "read": {"type": "array", "items": {"type": "string"}},
        "written": {"type": "array", "items": {"type": "string"}},
        "deleted": {"type": "array", "items": {"type": "string"}},
        "more": {"type": "integer", "description": "That are not listed."},
        "complete": {
          "type": "boolean",
          "description": "Whether no file was read that is in none of the lists."
        }
      },
      "required": ["read", "written", "deleted", "complete"]
    },
    "network_attempts": {
      "type": "object",
      "description": "What the kernel counted in the sandbox's own network, which leads nowhere.",
      "properties": {
        "without_route": {"type": "integer"},
        "connections": {"type": "integer", "description": "By TCP, also to the sandbox itself."},
        "datagrams": {"type": "integer", "description": "By UDP, also to the sandbox itself."},
        "places": {"type": "array", "items": {"type": "string"}}
      },
      "required": ["without_route", "connections", "datagrams", "places"]
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
    "masked": {
      "type": "object",
      "description": "How many values of each type of personal data were masked.",
      "additionalProperties": {"type": "integer"}
    },
    "profile": {"type": "string", "description": "Of policy, under which it ran."},
    "policy_version": {"type": "string", "description": "Digest of the rules in force."},
    "findings": {
      "type": "array",
      "description": "What the scanner found in the program before it ran.",
      "items": {
        "type": "object",
        "properties": {
          "rule": {"type": "string"},
          "severity": {"type": "string", "enum": ["low", "medium", "high", "critical"]},
          "action": {"type": "string", "enum": ["note", "warn", "ask", "refuse"]},
          "line": {"type": "integer"},
          "text": {"type": "string"}
        },
        "required": ["rule", "severity", "action", "line", "text"]
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
        "mode": {"type": "string"},
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

constexpr std::string_view kSession = R"({
  "type": "object",
  "properties": {
    "session_id": {"type": "string"},
    "language": {"type": "string"},
    "conversation_id": {"type": "string"},
    "cells": {
      "type": "integer",
      "minimum": 0,
      "description": "Run so far, those that were undone included."
    },
    "busy": {"type": "boolean"},
    "idle_seconds": {"type": "number"},
    "expires_in_seconds": {"type": "number"},
    "checkpoints": {"type": "boolean", "description": "Whether cells can be undone."},
    "forked_from": {"type": "string"},
    "diff": {
      "type": "object",
      "properties": {},
      "required": ["variables", "files"],
      "additionalProperties": false
    }
  },
  "required": ["session_id", "language", "cells", "busy", "idle_seconds", "expires_in_seconds",
               "checkpoints"],
  "additionalProperties": false
})";

constexpr std::string_view kChanges = R"({
  "type": "object",
  "properties": {
    "added": {"type": "array", "items": {"type": "string"}},
    "changed": {"type": "array", "items": {"type": "string"}},
    "removed": {"type": "array", "items": {"type": "string"}}
  },
  "required": ["added", "changed", "removed"],
  "additionalProperties": false
})";

constexpr std::string_view kLimits = R"({
  "type": "object",
  "properties": {
    "timeout_seconds": {"type": "number"},
    "memory_bytes": {"type": "integer"},
    "cpu": {"type": "number"},
    "processes": {"type": "integer"},
    "output_bytes": {"type": "integer"},
    "output_file_bytes": {"type": "integer"},
    "tmp_bytes": {"type": "integer"},
    "workspace_bytes": {"type": "integer"}
  },
  "required": ["timeout_seconds", "memory_bytes", "cpu", "processes", "output_bytes",
               "output_file_bytes", "tmp_bytes", "workspace_bytes"],
  "additionalProperties": false
})";

}  // namespace

json::object result_schema() { return schema_from(kResult); }

json::object session_schema() {
    json::object schema = schema_from(kSession);
    json::object& diff = schema.at("properties").at("diff").at("properties").as_object();
    diff["variables"] = schema_from(kChanges);
    diff["files"] = schema_from(kChanges);
    return schema;
}

json::object limits_schema() { return schema_from(kLimits); }

}  // namespace belljar::outcome
