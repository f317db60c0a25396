#include "mcp/dialect_log_execute.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>

#include "base/utf8.h"
#include "engine/run_arguments.h"
#include "mcp/output_content.h"
#include "mcp/pretty_json.h"
#include "mcp/text_view.h"
#include "mcp/tool_arguments.h"
#include "mcp/tools_execute.h"
#include "mcp/tools_search.h"
#include "outcome/result_json.h"
#include "policy/rulebook.h"

namespace belljar::mcp {
namespace {

using execution::RunResult;
using execution::Status;

constexpr std::size_t kLongestExecuteOutput = 100'000;  // characters
constexpr Duration kUsualTime = std::chrono::seconds(30);

constexpr auto kTools = std::to_array<std::string_view>(
    {"log_store", "privacy", "workspace", "skills", "tool_discovery"});
// Besides those, as its document has them, and the package that the tools are in.
constexpr auto kHarmless = std::to_array<std::string_view>(
    {"json",        "re",       "math",   "datetime", "collections", "itertools",
     "functools",   "operator", "string", "textwrap", "unicodedata", "statistics",
     "random",      "hashlib",  "base64", "copy",     "pprint",      "enum",
     "dataclasses", "typing",   "time",   "csv"});

std::vector<std::string> allowed_modules() {
    std::vector<std::string> names(kTools.begin(), kTools.end());
    names.insert(names.end(), kHarmless.begin(), kHarmless.end());
    std::ranges::sort(names);
    return names;
}

// What the program could import, in order.
std::vector<std::string> names_of(const engine::Executor& executor, const RunResult& result,
                                  std::optional<std::vector<std::string>> listed) {
    if (!listed) {
        const std::shared_ptr<const policy::Rulebook> rules = executor.rulebook();
        const Result<const policy::Profile*> profile =
            rules ? rules->find(result.profile) : fail(ErrorCode::NotFound, "there is no policy");
        listed = profile ? (*profile)->python.modules : std::vector<std::string>();
    }
    std::ranges::sort(*listed);
    return *listed;
}

// Everything that the program wrote, one stream after the other.
std::string written(const RunResult& result) {
    std::string text = make_valid_utf8(result.stdout_stream.text);
    const std::string errors = make_valid_utf8(result.stderr_stream.text);
    text += text.empty() || errors.empty() || text.ends_with('\n') ? "" : "\n";
    return text + errors;
}

// As the guest says it: Import 'os' is not allowed, or Import of 'os' is not allowed in sandbox.
std::string import_failure(const std::string& message, const std::vector<std::string>& allowed) {
    const std::size_t begin = message.find('\'');
    const std::size_t end = message.find("' is not allowed");
    if (!message.starts_with("Import ") || end == std::string::npos || begin >= end) {
        return "Import error: " + message;
    }
    return fmt::format("Import error: Import of {}' is not allowed. Allowed modules: {}",
                       message.substr(begin, end - begin), fmt::join(allowed, ", "));
}

std::string failure(const RunResult& result, Duration time,
                    const std::vector<std::string>& allowed) {
    if (result.status == Status::Timeout) {
        return fmt::format("Code execution timed out after {:g} seconds", to_seconds(time));
    }
    if (!result.error) {
        return status_line(result);
    }
    const execution::GuestError& error = *result.error;
    if (error.type == "SyntaxError" && error.line) {
        // The interpreter says it once more, with the name of our file.
        const std::string message = error.message.substr(0, error.message.rfind(" (main.py"));
        return fmt::format("Syntax error at line {}: {}", *error.line, message);
    }
    if (error.type == "ImportError" || error.type == "ModuleNotFoundError") {
        return import_failure(error.message, allowed);
    }
    return fmt::format("{}: {}", error.type, error.message);
}

json::object view_of(std::string output, const json::value& error) {
    const bool cut = output.size() > kLongestExecuteOutput;
    if (cut) {
        output = fmt::format("{}\n... [OUTPUT TRUNCATED - exceeded {} chars]",
                             utf8_beginning(output, kLongestExecuteOutput), kLongestExecuteOutput);
    }
    return {{"success", error.is_null()},
            {"output", std::move(output)},
            {"error", error},
            {"truncated", cut}};
}

}  // namespace

ToolDefinition define_execute_for_logs(const engine::SandboxInfo& info) {
    ToolDefinition definition = define_execute_code(info);
    definition.name = "log_analysis.execute_code";
    definition.title = "Run code on logs";
    definition.annotations["title"] = definition.title;
    definition.tasks = TaskUse::Never;
    definition.output_schema = {};  // its answer is its text
    definition.description =
        "Runs a Python program that finds log_store, privacy, workspace, skills and tool_discovery "
        "by their names, without importing them, and may import harmless modules only. Use it to "
        "look through large logs and to give back few lines of them. The text that comes back is "
        "JSON: success, output, error, truncated. At an older path, clients call it "
        "execute_code. Example: {\"code\": \"print(log_store.tail_logs('payment-service'))\"}";
    return definition;
}

ToolDefinition define_search_for_logs(const engine::SandboxInfo& info) {
    ToolDefinition definition = define_search_tools(info);
    definition.name = "log_analysis.search_tools";
    definition.title = "Find functions for logs";
    definition.annotations["title"] = definition.title;
    definition.description =
        "Finds functions of the approved modules by words, as search_tools does. Use it to learn "
        "what a program can call. The text that comes back is a JSON list of module, name, "
        "signature and description. Example: {\"query\": \"scrub\"}";
    return definition;
}

std::string_view name_for_logs(std::string_view tool) {
    return tool == "execute_code"   ? "log_analysis.execute_code"
           : tool == "search_tools" ? "log_analysis.search_tools"
                                    : tool;
}

Task<Result<ToolOutcome>> execute_for_logs(ToolContext context, ToolCall call,
                                           engine::CancellationPtr cancellation) {
    if (text_of(call.arguments, "code").empty()) {
        co_return ToolOutcome{.text = pretty(view_of("", "No code provided"))};
    }
    BJ_CO_TRY(execution::RunRequest request, engine::parse_run_arguments(call.arguments));
    mark(request, call);
    request.principal = std::move(call.principal);
    const Duration time = request.timeout.value_or(kUsualTime);
    request.timeout = time;
    request.environment["BELLJAR_BIND"] = fmt::format("{}", fmt::join(kTools, " "));
    // Its own list, unless the caller has chosen one or a profile.
    if (request.language == "python" && !request.allowed_imports && !request.profile) {
        request.allowed_imports = allowed_modules();
    }
    std::optional<std::vector<std::string>> listed = request.allowed_imports;
    if (request.allowed_imports) {
        request.allowed_imports->emplace_back("tools");
    }
    const execution::OutputForm form = request.output_form;
    BJ_CO_TRY(const RunResult result,
              co_await context.executor->execute(std::move(request), std::move(cancellation)));
    json::value error = nullptr;
    if (!result.success()) {
        const std::vector<std::string> allowed =
            names_of(*context.executor, result, std::move(listed));
        error = make_valid_utf8(failure(result, time, allowed));
    }
    co_return ToolOutcome{.text = pretty(view_of(written(result), error)),
                          .more = content_of(result, form),
                          .structured = outcome::to_json(result)};  // its text says if it failed
}

Task<Result<ToolOutcome>> search_for_logs(ToolContext context, ToolCall call,
                                          engine::CancellationPtr cancellation) {
    call.arguments.erase("detail");  // it has no such thing, and always says what they do
    BJ_CO_TRY(ToolOutcome outcome,
              co_await search_tools(context, std::move(call), std::move(cancellation)));
    if (outcome.structured) {
        json::array functions;
        for (const json::value& result : outcome.structured->at("results").get_array()) {
            const json::object& told = result.get_object();
            if (told.at("kind") == "function") {
                functions.push_back(json::object{{"module", told.at("module")},
                                                 {"name", told.at("name")},
                                                 {"signature", told.at("signature")},
                                                 {"description", told.at("description")}});
            }
        }
        outcome.text = pretty(functions);
    }
    co_return outcome;
}

}  // namespace belljar::mcp
