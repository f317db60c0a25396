#include "mcp/tools_session.h"

#include <boost/json/array.hpp>

#include "engine/session_arguments.h"
#include "mcp/tool_schemas.h"
#include "outcome/session_json.h"

namespace belljar::mcp {
namespace {

constexpr std::string_view kSessionInput = R"({
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

constexpr std::string_view kSessionOutput = R"({
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

}  // namespace

ToolDefinition define_manage_session(const engine::SandboxInfo& /*info*/) {
    constexpr std::string_view kTitle = "Go back in a session, copy or end it";
    return {.name = "manage_session",
            .title = std::string(kTitle),
            .description =
                "Works on the sessions that execute_code keeps with session: true. list shows "
                "them; undo brings the variables back to what they were some cells ago; fork gives "
                "a second session with the same variables, to try something out; diff says which "
                "variables and files the last cells changed; reset forgets all variables; end ends "
                "the session. Files in /workspace are not brought back by undo, and are shared by "
                "forks. Example: {\"action\": \"undo\", \"session_id\": \"...\", \"cells\": 2}",
            .input_schema = schema_from(kSessionInput),
            .output_schema = schema_from(kSessionOutput),
            .annotations = annotations_for(kTitle, Effect::Destroys),
            .icon = icon_of(Symbol::Clock)};
}

Task<Result<ToolOutcome>> manage_session(ToolContext context, ToolCall call,
                                         engine::CancellationPtr /*cancellation*/) {
    BJ_CO_TRY(std::optional<execution::SessionOrder> order,
              engine::parse_session_arguments(call.arguments));
    std::vector<execution::SessionView> views;
    if (order) {
        order->principal = std::move(call.principal);
        BJ_CO_TRY(views.emplace_back(), co_await context.executor->obey(std::move(*order)));
    } else {
        views = context.executor->list_sessions(call.principal);
    }
    json::array sessions;
    std::string text;
    for (const execution::SessionView& view : views) {
        json::object shown = outcome::to_json(view);
        text += to_text(shown) + "\n";
        sessions.push_back(std::move(shown));
    }
    co_return ToolOutcome{.text = text.empty() ? "There are no sessions." : text,
                          .structured = json::object{{"sessions", std::move(sessions)}}};
}

}  // namespace belljar::mcp
