#include "api/policy_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "access/run_origin.h"
#include "api/json_body.h"
#include "api/operation_parts.h"
#include "api/refusals.h"
#include "base/json_schema.h"
#include "base/utc_time.h"
#include "base/utf8.h"
#include "engine/code_reader.h"
#include "policy/rulebook.h"
#include "policy/scan_rules.h"
#include "policy/validation.h"

namespace belljar::api {
namespace {

using access::HttpResponse;
using access::Right;

constexpr std::string_view kExample = R"({"code": "import os", "profile": "basic"})";
constexpr std::string_view kApprovalExample = R"({"code_sha256": "...", "lifetime_seconds": 3600})";
constexpr std::size_t kLongestCode = std::size_t{1} << 20U;

constexpr std::string_view kPolicy = R"({
  "type": "object",
  "properties": {
    "version": {"type": "string", "description": "Digest of the rules in force."},
    "since": {"type": "string", "format": "date-time"},
    "problem": {
      "type": ["string", "null"],
      "description": "Why what is written now is not in force. Told to operators only."
    },
    "default_profile": {"type": "string"},
    "profiles": {"type": "array", "items": {"type": "object"}},
    "principals": {
      "type": "object",
      "description": "Profiles by principal. Told to operators only.",
      "additionalProperties": {"type": "string"}
    },
    "tool_sets": {"type": "object", "additionalProperties": {"type": "string"}},
    "scan_rules": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "name": {"type": "string"},
          "severity": {"type": "string", "enum": ["low", "medium", "high", "critical"]}
        },
        "required": ["name", "severity"],
        "additionalProperties": false
      }
    }
  },
  "required": ["version", "since", "default_profile", "profiles", "tool_sets", "scan_rules"],
  "additionalProperties": false
})";

constexpr std::string_view kQuestion = R"({
  "type": "object",
  "properties": {
    "code": {"type": "string", "maxLength": 1048576},
    "language": {"type": "string", "enum": ["python", "javascript", "typescript"]},
    "profile": {"type": "string", "maxLength": 128, "description": "basic if left out."}
  },
  "required": ["code"],
  "additionalProperties": false
})";

constexpr std::string_view kApproval = R"({
  "type": "object",
  "properties": {
    "code_sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "lifetime_seconds": {"type": "integer", "minimum": 1, "maximum": 86400, "default": 3600}
  },
  "required": ["code_sha256"],
  "additionalProperties": false
})";

json::array rule_list() {
    json::array rules;
    for (const policy::ScanRule& rule : policy::scan_rules()) {
        rules.push_back({{"name", rule.name}, {"severity", execution::name_of(rule.severity)}});
    }
    return rules;
}

Result<std::string> text_at(const json::object& object, std::string_view key,
                            std::string_view otherwise) {
    const json::value* value = object.if_contains(key);
    if (value == nullptr || value->is_null()) {
        return std::string(otherwise);
    }
    if (!value->is_string()) {
        return fail(ErrorCode::InvalidArgument, fmt::format("\"{}\" must be a string", key));
    }
    return std::string(value->get_string());
}

Result<void> check_members(const json::object& object,
                           std::initializer_list<std::string_view> known, std::string_view needed) {
    for (const auto& entry : object) {
        if (std::ranges::find(known, std::string_view(entry.key())) == known.end()) {
            return fail(
                ErrorCode::InvalidArgument,
                fmt::format("unknown member \"{}\"", std::string_view(entry.key()).substr(0, 64)));
        }
    }
    if (!object.contains(needed)) {
        return fail(ErrorCode::InvalidArgument, fmt::format("\"{}\" is required", needed));
    }
    return {};
}

Result<policy::Question> read_question(const policy::Rulebook& rules, const std::string& body) {
    BJ_TRY(const json::object object, read_object(body, kExample));
    BJ_TRY_VOID(check_members(object, {"code", "language", "profile"}, "code"));
    policy::Question question{.profile_given = object.contains("profile"),
                              .usual_profile = rules.default_profile()};
    BJ_TRY(question.code, text_at(object, "code", ""));
    BJ_TRY(question.language, text_at(object, "language", "python"));
    BJ_TRY(const std::string profile, text_at(object, "profile", "basic"));
    BJ_TRY(question.profile, rules.find(profile));
    if (question.code.size() > kLongestCode) {
        return fail(ErrorCode::TooLarge, fmt::format("the code has {} bytes; at most {} are read",
                                                     question.code.size(), kLongestCode));
    }
    if (!policy::is_readable(question.language)) {
        return fail(ErrorCode::Unsupported,
                    "\"language\": python, javascript and typescript can be read");
    }
    return question;
}

Result<engine::Approval> read_approval(const access::HttpRequest& request) {
    BJ_TRY(const json::object object, read_object(request.body, kApprovalExample));
    BJ_TRY_VOID(check_members(object, {"code_sha256", "lifetime_seconds"}, "code_sha256"));
    engine::Approval approval{.approver =
                                  request.principal.empty() ? "the operator" : request.principal};
    BJ_TRY(approval.code_sha256, text_at(object, "code_sha256", ""));
    if (const json::value* seconds = object.if_contains("lifetime_seconds")) {
        if (!seconds->is_int64() || seconds->get_int64() < 1 || seconds->get_int64() > 86'400) {
            return fail(ErrorCode::InvalidArgument,
                        "\"lifetime_seconds\" must be between 1 and 86400");
        }
        approval.lifetime = std::chrono::seconds(seconds->get_int64());
    }
    return approval;
}

Operation operation(std::string_view id, std::string_view method, std::string_view path,
                    std::string_view summary) {
    return {.id = std::string(id),
            .method = std::string(method),
            .path = std::string(path),
            .tag = "policy",
            .summary = std::string(summary)};
}

}  // namespace

void PolicyRoutes::add_to(OperationTable& table) {
    table.add_schema("Policy", schema_from(kPolicy));
    table.add_schema("Validation", policy::validation_schema());
    table.add_schema("ValidationQuestion", schema_from(kQuestion));
    table.add_schema("Approval", schema_from(kApproval));
    Operation shown = operation("getPolicy", "GET", "/v1/policy", "The rules in force");
    shown.rights = {Right::RunExec};
    shown.answers = {answer_in("Policy", "Profiles, who has which, and rules of the scanner.")};
    shown.handler = [this](Call call) { return answer_at_once(show(call.request)); };
    table.add(std::move(shown));
    Operation asked = operation("validateCode", "POST", "/v1/policy/validate",
                                "Reads a program without running it");
    asked.description =
        "As the tool validate_code: by the grammar of the interpreter that would "
        "run it, in a jar.";
    asked.rights = {Right::RunExec};
    asked.bodies = {{.schema = reference("ValidationQuestion")}};
    asked.answers = {answer_in("Validation", "What a profile says of it.")};
    asked.handler = [this](Call call) { return validate(std::move(call)); };
    table.add(std::move(asked));
    Operation approved = operation("approveCode", "POST", "/v1/policy/approvals",
                                   "Lets a program run that policy wants a person to look at");
    approved.description =
        "By the SHA-256 of its text, which its refusal tells. In force for an "
        "hour if nothing else is said, and at most until the server ends.";
    approved.rights = {Right::Operate};
    approved.bodies = {{.schema = reference("Approval")}};
    approved.answers = {answer_in("Approval", "It is in force.", 201)};
    approved.handler = [this](Call call) { return answer_at_once(approve(call.request)); };
    table.add(std::move(approved));
}

HttpResponse PolicyRoutes::show(const access::HttpRequest& request) const {
    const std::shared_ptr<const policy::Rulebook> rules = executor_.rulebook();
    if (!rules) {
        return refuse({.code = ErrorCode::Unsupported, .message = "there is no policy here"});
    }
    const engine::PolicyNews news = executor_.policy_news();
    json::object object = rules->to_json();
    object["version"] = rules->version();
    object["since"] = format_utc(news.since);
    object["scan_rules"] = rule_list();
    if (access::allows(request.rights, access::Rights{Right::Operate})) {
        object["problem"] = news.problem.empty() ? json::value(nullptr)
                                                 : json::value(make_valid_utf8(news.problem));
    } else {
        object.erase("principals");
    }
    return {.body = to_text(object)};
}

Task<HttpResponse> PolicyRoutes::validate(Call call) {
    const std::shared_ptr<const policy::Rulebook> rules = executor_.rulebook();
    if (!rules) {
        co_return refuse({.code = ErrorCode::Unsupported, .message = "there is no policy here"});
    }
    if (!is_json(call.request)) {
        co_return refuse_media_type();
    }
    const Result<policy::Question> question = read_question(*rules, call.request.body);
    if (!question) {
        co_return refuse(question.error());
    }
    Result<execution::RunRequest> reading =
        engine::reading_request({.code = question->code, .language = question->language});
    if (!reading) {
        co_return refuse(reading.error());
    }
    access::set_origin(*reading, call.request);
    const Result<execution::RunResult> result =
        co_await executor_.execute(std::move(*reading), std::move(call.cancellation));
    if (!result) {
        co_return refuse(result.error());
    }
    HttpResponse answer{.body = to_text(policy::validate(*question, engine::reading_of(*result)))};
    answer.cut_short = result->status == execution::Status::Cancelled;
    co_return answer;
}

HttpResponse PolicyRoutes::approve(const access::HttpRequest& request) {
    if (!is_json(request)) {
        return refuse_media_type();
    }
    const Result<engine::Approval> approval = read_approval(request);
    if (!approval) {
        return refuse(approval.error());
    }
    if (const Result<void> done = executor_.approve(*approval); !done) {
        return refuse(done.error());
    }
    return {.status = 201,
            .body = to_text(json::object{{"code_sha256", approval->code_sha256},
                                         {"lifetime_seconds", approval->lifetime.count()}})};
}

}  // namespace belljar::api
