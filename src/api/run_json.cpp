#include "api/run_json.h"

#include <boost/json/array.hpp>

#include "base/json_schema.h"
#include "base/utc_time.h"
#include "base/utf8.h"
#include "execution/error_wire.h"
#include "outcome/result_json.h"
#include "outcome/result_schema.h"
#include "policy/validation.h"

namespace belljar::api {
namespace {

using execution::RunView;

constexpr std::string_view kRun = R"({
  "type": "object",
  "properties": {
    "execution_id": {"type": "string"},
    "state": {"type": "string", "enum": ["queued", "running", "ended"]},
    "status": {
      "type": "string",
      "enum": ["ok", "error", "timeout", "memory", "processes", "disk", "output", "killed",
               "denied", "cancelled"],
      "description": "Of a run that ended and has a result."
    },
    "failure": {"type": "string", "description": "Why a run that ended has no result."},
    "exit_code": {"type": "integer"},
    "language": {"type": "string"},
    "conversation_id": {"type": "string"},
    "session_id": {"type": "string"},
    "created_at": {"type": "string", "format": "date-time"},
    "started_at": {"type": "string", "format": "date-time"},
    "ended_at": {"type": "string", "format": "date-time"},
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
                   "processes_peak"],
      "additionalProperties": false
    },
    "output_bytes": {"type": "integer", "minimum": 0},
    "denials": {"type": "integer", "minimum": 0},
    "code_sha256": {"type": "string"},
    "code_bytes": {"type": "integer", "minimum": 0},
    "grade": {"type": "string", "description": "Of the isolation."},
    "label": {"type": "string", "description": "Whom the caller said the run is for."},
    "trace": {"type": "string"}
  },
  "required": ["execution_id", "state", "language", "created_at"],
  "additionalProperties": false
})";

constexpr std::string_view kPreview = R"({
  "type": "object",
  "properties": {
    "allowed": {"type": "boolean"},
    "status": {"type": "integer", "description": "What POST /v1/runs would answer."},
    "code": {"type": "string"},
    "reason": {"type": "string"},
    "language": {"type": "string"},
    "runner": {"type": "string"},
    "profile": {"type": "string"},
    "policy_version": {"type": "string"},
    "asks": {"type": "boolean", "description": "Whether a person has to agree first."},
    "findings": {"type": "array", "items": {"type": "object"}},
    "network": {"type": "boolean"},
    "capped": {
      "type": "object",
      "description": "Limits of which less would be given than asked for, by argument.",
      "additionalProperties": {
        "type": "object",
        "properties": {
          "asked": {"type": ["number", "string"]},
          "given": {"type": ["number", "string"]}
        },
        "required": ["asked", "given"],
        "additionalProperties": false
      }
    },
    "isolation": {
      "type": "object",
      "properties": {
        "grade": {"type": "string"},
        "tier": {"type": "string"},
        "mode": {"type": "string"},
        "missing": {"type": "array", "items": {"type": "string"}}
      },
      "required": ["grade", "tier", "mode", "missing"],
      "additionalProperties": false
    }
  },
  "required": ["allowed", "status"],
  "additionalProperties": false
})";

void add_text(json::object& object, std::string_view name, const std::optional<std::string>& text) {
    if (text && !text->empty()) {
        object[name] = make_valid_utf8(*text);
    }
}

void add_time(json::object& object, std::string_view name,
              const std::optional<execution::WallTime>& time) {
    if (time) {
        object[name] = format_utc(*time);
    }
}

}  // namespace

json::object run_json(const RunView& view) {
    json::object object{{"execution_id", make_valid_utf8(view.execution_id)},
                        {"state", execution::name_of(view.state)},
                        {"language", make_valid_utf8(view.language)},
                        {"created_at", format_utc(view.created)}};
    add_time(object, "started_at", view.started);
    add_time(object, "ended_at", view.ended);
    if (view.status) {
        object["status"] = execution::name_of(*view.status);
    }
    add_text(object, "failure", view.failure);
    if (view.exit_code) {
        object["exit_code"] = *view.exit_code;
    }
    add_text(object, "conversation_id", view.conversation_id);
    add_text(object, "session_id", view.session_id);
    if (view.state == execution::RunState::Ended) {
        object["usage"] = outcome::to_json(view.usage);
        object["output_bytes"] = view.output_bytes;
        object["denials"] = view.denials;
    }
    add_text(object, "code_sha256", view.code_sha256);
    object["code_bytes"] = view.code_bytes;
    add_text(object, "grade", view.grade);
    add_text(object, "label", view.label);
    add_text(object, "trace", view.trace);
    return object;
}

json::object audit_json(const RunView& view) {
    json::object object = run_json(view);
    object["principal"] = make_valid_utf8(view.principal);
    return object;
}

std::string record_text(const execution::RunRecord& record) {
    std::string text = to_text(run_json(record.view));
    text.pop_back();
    return text + ",\"result\":" + record.result.value_or("null") + "}";
}

json::object preview_json(const Result<engine::RunPreview>& preview) {
    if (!preview) {
        const Error& error = preview.error();
        return {{"allowed", false},
                {"status", execution::http_status(error.code)},
                {"code", name_of(error.code)},
                {"reason", make_valid_utf8(execution::client_message(error))}};
    }
    json::array findings;
    for (const execution::Finding& finding : preview->findings) {
        findings.push_back(policy::to_json(finding));
    }
    return {{"allowed", !preview->asks},
            {"status", preview->asks ? execution::http_status(ErrorCode::Denied) : 200},
            {"language", preview->language},
            {"runner", preview->runner},
            {"profile", preview->profile},
            {"policy_version", preview->policy_version},
            {"asks", preview->asks},
            {"findings", std::move(findings)},
            {"network", false},
            {"limits", outcome::to_json(preview->limits)},
            {"capped", outcome::to_json(preview->capped)},
            {"isolation", outcome::to_json(preview->isolation)}};
}

json::object run_schema() { return schema_from(kRun); }

json::object audit_schema() {
    json::object schema = run_schema();
    schema.at("properties").as_object()["principal"] = json::object{
        {"type", "string"}, {"description", "Whose run it was; empty: the one without a name."}};
    schema.at("required").as_array().emplace_back("principal");
    return schema;
}

json::object preview_schema() {
    json::object schema = schema_from(kPreview);
    json::object& properties = schema.at("properties").as_object();
    properties["limits"] = outcome::limits_schema();
    properties.at("findings").as_object()["items"] = policy::finding_schema();
    return schema;
}

}  // namespace belljar::api
