#include "policy/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <tuple>

#include "base/json_schema.h"

namespace belljar::policy {
namespace {

using execution::Finding;
using execution::ScanAction;
using execution::Severity;

constexpr std::string_view kSchema = R"({
  "type": "object",
  "properties": {
    "validation": {
      "type": "object",
      "properties": {
        "valid": {"type": "boolean"},
        "errors": {"type": "array", "items": {"type": "string"}},
        "message": {"type": "string"}
      },
      "required": ["valid", "errors", "message"]
    },
    "analysis": {
      "type": "object",
      "properties": {
        "line_count": {"type": "integer"},
        "character_count": {"type": "integer"},
        "estimated_complexity": {"type": "string", "enum": ["low", "medium", "high"]},
        "imports": {"type": "array", "items": {"type": "string"}},
        "functions": {"type": "array", "items": {"type": "string"}},
        "classes": {"type": "array", "items": {"type": "string"}}
      },
      "required": ["line_count", "character_count", "estimated_complexity", "imports",
                   "functions", "classes"]
    },
    "recommendations": {"type": "array", "items": {"type": "string"}},
    "warnings": {"type": "array", "items": {"type": "string"}},
    "findings": {"type": "array", "items": {}},
    "language": {"type": "string"},
    "profile": {"type": "string", "description": "The one that the answer is for."}
  },
  "required": ["validation", "analysis", "recommendations", "warnings", "findings", "language",
               "profile"]
})";

constexpr std::string_view kFinding = R"({
  "type": "object",
  "properties": {
    "rule": {"type": "string", "description": "Its stable name, such as code.eval."},
    "severity": {"type": "string", "enum": ["low", "medium", "high", "critical"]},
    "action": {
      "type": "string",
      "enum": ["note", "warn", "ask", "refuse"],
      "description": "What the profile does about it."
    },
    "line": {"type": "integer", "description": "From 1; 0: the program as a whole."},
    "text": {"type": "string"}
  },
  "required": ["rule", "severity", "action", "line", "text"]
})";

bool is_allowed(const Question& question, const std::string& module) {
    return question.language == "python" ? allows_python(*question.profile, module)
                                         : allows_javascript(*question.profile, module);
}

// As whoever wrote it would call it: the package, not each of its parts.
std::string refused_name(const Question& question, const std::string& module) {
    return question.language == "python" ? module.substr(0, module.find('.')) : module;
}

json::array errors_of(const Question& question, const Reading& reading,
                      const std::vector<Finding>& findings) {
    if (reading.problem) {
        return {at_line(reading.problem->line, reading.problem->text)};
    }
    json::array errors;
    for (const Spot& import : reading.imports) {
        if (!is_allowed(question, import.text)) {
            errors.emplace_back(at_line(
                import.line,
                fmt::format("Import '{}' is not allowed", refused_name(question, import.text))));
        }
    }
    for (const Finding& finding : findings) {
        if (finding.action == ScanAction::Refuse) {
            errors.emplace_back(in_words(finding));
        }
    }
    return errors;
}

json::object judge_errors(const Reading& reading, json::array errors) {
    const std::string_view message = reading.problem   ? "Syntax error"
                                     : !errors.empty() ? "Code contains restricted operations"
                                                       : "Code passed validation";
    return {{"valid", errors.empty()}, {"errors", std::move(errors)}, {"message", message}};
}

std::int64_t count_lines(std::string_view code) {
    const auto breaks = std::ranges::count(code, '\n');
    return breaks + (code.empty() || code.ends_with('\n') ? 0 : 1);
}

std::int64_t count_characters(std::string_view code) {
    return std::ranges::count_if(
        code, [](char letter) { return (static_cast<unsigned char>(letter) & 0xC0U) != 0x80U; });
}

json::object analyse(const Question& question, const Reading& reading) {
    constexpr std::int64_t kLow = 10;
    constexpr std::int64_t kMedium = 30;
    json::array imports;
    for (const Spot& import : reading.imports) {
        if (std::ranges::find(imports, json::value(import.text)) == imports.end()) {
            imports.emplace_back(import.text);
        }
    }
    return {{"line_count", count_lines(question.code)},
            {"character_count", count_characters(question.code)},
            {"estimated_complexity", reading.branches < kLow      ? "low"
                                     : reading.branches < kMedium ? "medium"
                                                                  : "high"},
            {"imports", std::move(imports)},
            {"functions", json::array(reading.functions.begin(), reading.functions.end())},
            {"classes", json::array(reading.classes.begin(), reading.classes.end())}};
}

json::array recommend(const Question& question, const Reading& reading, bool valid,
                      const std::vector<Finding>& findings) {
    json::array advice;
    if (reading.problem) {
        advice.emplace_back(reading.whole ? "Correct the syntax error before running the code"
                                          : "Send less code, or code that is less nested");
    } else if (!valid) {
        advice.emplace_back("Some operations may be restricted in sandbox environment");
    }
    if (std::ranges::any_of(
            findings, [](const Finding& finding) { return finding.action == ScanAction::Ask; })) {
        advice.emplace_back("A person has to agree before this code may run");
    }
    if (!question.profile_given && !reading.problem) {
        advice.emplace_back(fmt::format(
            "This answer is for the profile basic, because none was given; execute_code runs "
            "programs under {}{}",
            question.usual_profile,
            question.usual_profile == "standard" ? ", which allows every import" : ""));
    }
    return advice;
}

bool is_warning(const Finding& finding) {
    return finding.action == ScanAction::Warn || finding.action == ScanAction::Ask ||
           (finding.action == ScanAction::Note && finding.severity >= Severity::Medium);
}

}  // namespace

json::object validate(const Question& question, const Reading& reading) {
    std::vector<Finding> findings = judge(*question.profile, reading);
    json::array errors = errors_of(question, reading, findings);
    const bool valid = errors.empty();
    json::array advice = recommend(question, reading, valid, findings);
    std::ranges::sort(findings, [](const Finding& one, const Finding& other) {
        return std::tie(one.line, one.rule) < std::tie(other.line, other.rule);
    });
    json::array warnings;
    json::array all;
    for (const Finding& finding : findings) {
        if (is_warning(finding)) {
            warnings.emplace_back(in_words(finding));
        }
        all.push_back(to_json(finding));
    }
    return {{"validation", judge_errors(reading, std::move(errors))},
            {"analysis", analyse(question, reading)},
            {"recommendations", std::move(advice)},
            {"warnings", std::move(warnings)},
            {"findings", std::move(all)},
            {"language", question.language},
            {"profile", question.profile->name}};
}

std::string in_words(const json::object& answer) {
    const json::object& validation = answer.at("validation").get_object();
    std::string text =
        fmt::format("{} (profile {}).", validation.at("message").get_string().c_str(),
                    answer.at("profile").get_string().c_str());
    for (const std::string_view list : {"warnings", "recommendations"}) {
        for (const json::value& item : answer.at(list).get_array()) {
            text += fmt::format("\n{}{}", list == "warnings" ? "Warning: " : "",
                                item.get_string().c_str());
        }
    }
    std::string errors;
    for (const json::value& error : validation.at("errors").get_array()) {
        errors += fmt::format("{}\n", error.get_string().c_str());
    }
    return errors + text;
}

json::object validation_schema() {
    json::object schema = schema_from(kSchema);
    schema.at("properties").at("findings").as_object()["items"] = finding_schema();
    return schema;
}

bool is_readable(std::string_view language) {
    return language == "python" || language == "javascript" || language == "typescript";
}

json::object to_json(const Finding& finding) {
    return {{"rule", finding.rule},
            {"severity", execution::name_of(finding.severity)},
            {"action", execution::name_of(finding.action)},
            {"line", finding.line},
            {"text", finding.text}};
}

json::object finding_schema() { return schema_from(kFinding); }

}  // namespace belljar::policy
