#include "mcp/tools_validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <chrono>

#include "base/utf8.h"
#include "mcp/quote.h"
#include "mcp/script_run.h"
#include "mcp/text_view.h"
#include "mcp/tool_arguments.h"
#include "mcp/tool_schemas.h"
#include "policy/import_profiles.h"
#include "runner/manifest.h"

namespace belljar::mcp {
namespace {

using policy::ImportProfile;

// Also of lists that a reader gives; what is more is not said.
constexpr std::size_t kMostListed = 100;
constexpr std::size_t kLongestText = 500;
constexpr auto kTime = std::chrono::seconds(20);

constexpr std::string_view kInput = R"({
  "type": "object",
  "properties": {
    "code": {"type": "string", "maxLength": 1048576, "description": "The program text."},
    "language": {
      "type": "string",
      "default": "python",
      "maxLength": 64,
      "description": "python, javascript or typescript."
    },
    "profile": {
      "type": "string",
      "enum": ["standard", "basic", "data_science", "network", "filesystem"],
      "default": "basic",
      "description": "Which modules to allow; execute_code itself runs programs under standard."
    }
  },
  "required": ["code"],
  "additionalProperties": false
})";

constexpr std::string_view kOutput = R"({
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
    "language": {"type": "string"},
    "profile": {"type": "string", "description": "The one that the answer is for."}
  },
  "required": ["validation", "analysis", "recommendations", "warnings", "language", "profile"]
})";

// What the reader in the jar has found, made safe: it is as hostile as the program that it read.
struct Finding {
    std::int64_t line = 0;
    std::string text{};
};

struct Reading {
    std::optional<Finding> problem{};  // why it is no program
    std::vector<Finding> imports{};
    std::vector<Finding> warnings{};
    std::vector<std::string> functions{};
    std::vector<std::string> classes{};
    std::int64_t branches = 0;
};

struct Question {
    std::string code{};
    std::string language{};
    const ImportProfile* profile = nullptr;
    bool profile_given = false;
};

std::string clipped(const json::value* value) {
    return value != nullptr && value->is_string()
               ? std::string(utf8_beginning(value->get_string(), kLongestText))
               : "";
}

std::int64_t count_in(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    return value != nullptr && value->is_int64() ? std::max<std::int64_t>(value->get_int64(), 0)
                                                 : 0;
}

Finding read_finding(const json::object& object) {
    return {.line = count_in(object, "line"), .text = clipped(object.if_contains("text"))};
}

const json::array& list_in(const json::object& object, std::string_view name) {
    static const json::array kNone;
    const json::value* value = object.if_contains(name);
    return value != nullptr && value->is_array() ? value->get_array() : kNone;
}

std::vector<Finding> read_findings(const json::object& object, std::string_view name) {
    std::vector<Finding> findings;
    for (const json::value& item : list_in(object, name)) {
        if (item.is_object() && findings.size() < kMostListed) {
            findings.push_back(read_finding(item.get_object()));
        }
    }
    return findings;
}

std::vector<std::string> read_names(const json::object& object, std::string_view name) {
    std::vector<std::string> names;
    for (const json::value& item : list_in(object, name)) {
        if (item.is_string() && names.size() < kMostListed) {
            names.push_back(clipped(&item));
        }
    }
    return names;
}

Reading read_answer(const ScriptEnd& end) {
    if (!end.value || !end.value->is_object()) {
        return {.problem = Finding{.line = 1,
                                   .text = end.run.success()
                                               ? "the program is too large to be read"
                                               : "the interpreter could not read the program: " +
                                                     status_line(end.run)}};
    }
    const json::object& object = end.value->get_object();
    Reading reading{.imports = read_findings(object, "imports"),
                    .warnings = read_findings(object, "warnings"),
                    .functions = read_names(object, "functions"),
                    .classes = read_names(object, "classes"),
                    .branches = count_in(object, "branches")};
    const json::value* problem = object.if_contains("problem");
    if (problem != nullptr && problem->is_object()) {
        reading.problem = read_finding(problem->get_object());
    }
    return reading;
}

std::string at_line(const Finding& finding) {
    return fmt::format("Line {}: {}", finding.line, finding.text);
}

bool is_allowed(const Question& question, const std::string& module) {
    return question.language == "python" ? policy::allows_import(*question.profile, module)
                                         : policy::allows_node_import(*question.profile, module);
}

// "os" of "os.path", unless a part of it is what is listed.
std::string_view refused_name(const Question& question, std::string_view module) {
    return question.language == "python" ? module.substr(0, module.find('.')) : module;
}

json::array refused_imports(const Question& question, const Reading& reading) {
    json::array errors;
    for (const Finding& import : reading.imports) {
        if (!is_allowed(question, import.text)) {
            errors.emplace_back(fmt::format("Line {}: Import '{}' is not allowed", import.line,
                                            refused_name(question, import.text)));
        }
    }
    return errors;
}

json::object judge(const Question& question, const Reading& reading) {
    json::array errors = reading.problem ? json::array{at_line(*reading.problem)}
                                         : refused_imports(question, reading);
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
    for (const Finding& import : reading.imports) {
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

json::array recommend(const Question& question, const Reading& reading, bool valid) {
    json::array advice;
    if (reading.problem) {
        advice.emplace_back("Correct the syntax error before running the code");
    } else if (!valid) {
        advice.emplace_back("Some operations may be restricted in sandbox environment");
    }
    if (!question.profile_given && !reading.problem) {
        advice.emplace_back(
            "This answer is for the profile basic, because none was given; execute_code runs "
            "programs under standard, which allows every import");
    }
    return advice;
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

ToolOutcome answer(const Question& question, const Reading& reading) {
    json::object validation = judge(question, reading);
    const bool valid = validation.at("valid").get_bool();
    json::array warnings;
    for (const Finding& warning : reading.warnings) {
        warnings.emplace_back(at_line(warning));
    }
    json::object structured{{"validation", std::move(validation)},
                            {"analysis", analyse(question, reading)},
                            {"recommendations", recommend(question, reading, valid)},
                            {"warnings", std::move(warnings)},
                            {"language", question.language},
                            {"profile", question.profile->name}};
    std::string text = in_words(structured);
    return {.text = std::move(text), .structured = std::move(structured)};
}

// The name of the language, whichever of its names is given.
std::string full_name(const engine::SandboxInfo& info, const std::string& name) {
    for (const engine::SandboxInfo::Runner& runner : info.runners) {
        if (std::ranges::find(runner.aliases, name) != runner.aliases.end()) {
            return runner.language;
        }
    }
    return name.empty() ? "python" : name;
}

Result<Question> read_question(const engine::SandboxInfo& info, const json::object& arguments) {
    Question question{.code = text_of(arguments, "code"),
                      .language = full_name(info, text_of(arguments, "language")),
                      .profile_given = is_given(arguments, "profile")};
    if (question.language != "python" && question.language != "javascript" &&
        question.language != "typescript") {
        return fail(ErrorCode::Unsupported,
                    fmt::format("validate_code reads python, javascript and typescript, not {}; "
                                "run the program with execute_code instead",
                                quote(question.language)));
    }
    BJ_TRY(question.profile, policy::find_import_profile(
                                 question.profile_given ? text_of(arguments, "profile") : "basic"));
    return question;
}

// The reader of the language, and the parsers that the language is run with here.
Result<Script> choose_reader(const Question& question) {
    Script script{.program = "python/validate.py",
                  .input = json::object{{"code", question.code}, {"language", question.language}},
                  .timeout = kTime};
    if (question.language == "python") {
        return script;
    }
    script.program = "node/validate.cjs";
    script.language = "javascript";
    BJ_TRY(script.files["acorn.cjs"], runner::embedded_guest_program("node/acorn.cjs"));
    if (question.language == "typescript") {
        BJ_TRY(script.files["swc.cjs"], runner::embedded_guest_program("node/swc.cjs"));
    }
    return script;
}

}  // namespace

ToolDefinition define_validate_code(const engine::SandboxInfo& /*info*/) {
    constexpr std::string_view kTitle = "Check code without running it";
    return {.name = "validate_code",
            .title = std::string(kTitle),
            .description =
                "Reads a program with the grammar of the interpreter that would run it, and never "
                "executes it. Use it to find syntax errors with their lines, and imports that a "
                "profile does not allow, before a long run. Comes back with validation (valid, "
                "errors, message), analysis (lines, complexity, imports, functions, classes), "
                "warnings and recommendations. It knows python, javascript and typescript, up to "
                "1 MiB. It is no proof that a program is harmless: the sandbox is what holds it. "
                "Example: {\"code\": \"import os; os.system('ls')\", \"profile\": \"basic\"}",
            .input_schema = schema_from(kInput),
            .output_schema = schema_from(kOutput),
            .annotations = annotations_for(kTitle, Effect::Nothing),
            .icon = icon_of(Symbol::Check)};
}

Task<Result<ToolOutcome>> validate_code(ToolContext context, ToolCall call,
                                        engine::CancellationPtr cancellation) {
    BJ_CO_TRY(const Question question, read_question(context.executor->info(), call.arguments));
    BJ_CO_TRY(Script script, choose_reader(question));
    script.principal = std::move(call.principal);
    BJ_CO_TRY(const ScriptEnd end,
              co_await run_script(context.executor, std::move(script), std::move(cancellation)));
    co_return answer(question, read_answer(end));
}

}  // namespace belljar::mcp
