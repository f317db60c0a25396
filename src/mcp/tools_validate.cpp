#include "mcp/tools_validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "base/json_schema.h"
#include "engine/code_reader.h"
#include "mcp/quote.h"
#include "mcp/tool_arguments.h"
#include "mcp/tool_schemas.h"
#include "policy/rulebook.h"
#include "policy/validation.h"

namespace belljar::mcp {
namespace {

constexpr std::string_view kValidateInput = R"({
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
      "enum": [],
      "default": "basic",
      "description": "The rules to answer for."
    }
  },
  "required": ["code"],
  "additionalProperties": false
})";

// The name of the language, whichever of its names is given.
std::string full_name(const engine::SandboxInfo& info, const std::string& name) {
    for (const engine::SandboxInfo::Runner& runner : info.runners) {
        if (std::ranges::find(runner.aliases, name) != runner.aliases.end()) {
            return runner.language;
        }
    }
    return name.empty() ? "python" : name;
}

Result<policy::Question> read_question(const engine::SandboxInfo& info,
                                       const policy::Rulebook& rules,
                                       const json::object& arguments) {
    policy::Question question{.code = text_of(arguments, "code"),
                              .language = full_name(info, text_of(arguments, "language")),
                              .profile_given = is_given(arguments, "profile"),
                              .usual_profile = rules.default_profile()};
    if (!policy::is_readable(question.language)) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("validate_code reads python, javascript and typescript, not {}; "
                                "run the program with execute_code instead",
                                quote(question.language)));
    }
    BJ_TRY(question.profile,
           rules.find(question.profile_given ? text_of(arguments, "profile") : "basic"));
    return question;
}

// Those that there are, the best known first.
json::array profile_names(const engine::SandboxInfo& info) {
    json::array names{"standard", "basic", "data_science", "network", "filesystem"};
    for (const engine::SandboxInfo::Profile& profile : info.profiles) {
        if (std::ranges::find(names, json::value(profile.name)) == names.end()) {
            names.emplace_back(profile.name);
        }
    }
    return names;
}

}  // namespace

ToolDefinition define_validate_code(const engine::SandboxInfo& info) {
    constexpr std::string_view kTitle = "Check code without running it";
    json::object input = schema_from(kValidateInput);
    json::object& profile = input.at("properties").at("profile").as_object();
    profile["enum"] = profile_names(info);
    describe_member(input, "profile",
                    fmt::format("The rules to answer for; execute_code itself runs programs "
                                "under {}.",
                                info.default_profile));
    return {.name = "validate_code",
            .title = std::string(kTitle),
            .description =
                "Reads a program with the grammar of the interpreter that would run it, and never "
                "executes it. Use it to find syntax errors with their lines, imports that a "
                "profile does not allow and suspicious code, before a long run. Comes back with "
                "validation (valid, errors, message), analysis (lines, complexity, imports, "
                "functions, classes), findings of the scanner, warnings and recommendations. It "
                "knows python, javascript and typescript, up to 1 MiB. It is no proof that a "
                "program is harmless: the sandbox is what holds it. "
                "Example: {\"code\": \"import os; os.system('ls')\", \"profile\": \"basic\"}",
            .input_schema = std::move(input),
            .output_schema = policy::validation_schema(),
            .annotations = annotations_for(kTitle, Effect::Nothing),
            .icon = icon_of(Symbol::Check)};
}

Task<Result<ToolOutcome>> validate_code(ToolContext context, ToolCall call,
                                        engine::CancellationPtr cancellation) {
    const std::shared_ptr<const policy::Rulebook> rules = context.executor->rulebook();
    if (!rules) {
        co_return fail(ErrorCode::Unsupported, "there are no profiles here");
    }
    BJ_CO_TRY(const policy::Question question,
              read_question(context.executor->info(), *rules, call.arguments));
    BJ_CO_TRY(execution::RunRequest request,
              engine::reading_request({.code = question.code,
                                       .language = question.language,
                                       .principal = std::move(call.principal)}));
    mark(request, call);
    request.tool = "validate_code";
    BJ_CO_TRY(const execution::RunResult result,
              co_await context.executor->execute(std::move(request), std::move(cancellation)));
    json::object answer = policy::validate(question, engine::reading_of(result));
    std::string text = policy::in_words(answer);
    co_return ToolOutcome{.text = std::move(text), .structured = std::move(answer)};
}

}  // namespace belljar::mcp
