#include "engine/run_schema.h"

#include "base/json_schema.h"

namespace belljar::engine {
namespace {

constexpr std::string_view kArgumentSchemas = R"({
  "type": "object",
  "properties": {
    "code": {"type": "string", "description": "The program text."},
    "language": {
      "type": "string",
      "default": "python",
      "description": "One of those that the list of runners tells."
    },
    "timeout": {
      "type": "number",
      "exclusiveMinimum": 0,
      "description": "Seconds of running time."
    },
    "memory_limit": {"type": "string", "description": "A size such as 64m or 1g."},
    "cpu": {
      "type": "number",
      "exclusiveMinimum": 0,
      "description": "Cores that the program keeps when others compete."
    },
    "processes": {
      "type": "integer",
      "minimum": 1,
      "description": "Processes and threads alive at once."
    },
    "max_output": {
      "type": "string",
      "description": "Size of each output stream in the result, such as 64k."
    },
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
    "allowed_imports": {
      "type": "array",
      "maxItems": 1024,
      "items": {"type": "string"}
    },
    "capture_output": {
      "type": "boolean",
      "default": true,
      "description": "Changes nothing: output is always captured."
    },
    "profile": {"type": "string", "maxLength": 128},
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

}  // namespace

json::object run_arguments_schema() {
    json::object schema = schema_from(kArgumentSchemas);
    describe_member(
        schema, "files",
        "Files to put into /workspace, where the program starts: relative path to text, or to "
        "{\"base64\": \"...\"} for binary content.");
    describe_member(
        schema, "output",
        "How figures, tables and other outputs are shown to you: each in its best form, or in "
        "every form that is a picture or text.");
    describe_member(
        schema, "allowed_imports",
        "Top-level modules that the program itself may import; others raise ImportError. A "
        "check on your own code, not the fence around it. If left out, any.");
    describe_member(
        schema, "profile",
        "Rules to run under instead of your own: the same or narrower ones. basic allows modules "
        "that work on values alone and reads the program first; get_sandbox_info lists them.");
    describe_member(
        schema, "session",
        "True keeps the interpreter: the result's session_id, given to later calls, lets them "
        "go on with its variables and imports. A call that crashes or runs out of time costs "
        "only itself: the state before it stays.");
    describe_member(
        schema, "conversation_id",
        "A name of your choice: runs that give the same one find the files in /workspace that "
        "the others left. With session: whose session it is, so that no id has to be kept.");
    describe_member(
        schema, "use_container",
        "Changes nothing: every run is kept apart at least as a container would keep it; the "
        "result says how, in isolation.tier.");
    return schema;
}

}  // namespace belljar::engine
