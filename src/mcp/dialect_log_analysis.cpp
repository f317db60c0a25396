#include "mcp/dialect_log_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>

#include "base/utf8.h"
#include "mcp/pretty_json.h"
#include "mcp/script_run.h"
#include "mcp/text_view.h"
#include "mcp/tool_arguments.h"
#include "mcp/tool_schemas.h"

namespace belljar::mcp {
namespace {

// As its document says: characters of an answer.
constexpr std::size_t kLongestOutput = 100'000;
// Where files are kept for a caller that names no conversation.
constexpr std::string_view kUsualConversation = "log-analysis";

constexpr std::string_view kOutput = R"({
  "type": "object",
  "properties": {
    "success": {"type": "boolean"},
    "output": {"type": "string", "description": "What the function returned; JSON unless a text."},
    "tool": {"type": "string"},
    "error": {"type": "string"},
    "truncated": {"type": "boolean"}
  },
  "required": ["success", "output", "tool"],
  "additionalProperties": false
})";

constexpr std::string_view kLogStore = R"({
  "function": {
    "type": "string",
    "enum": ["search_logs", "get_error_summary", "tail_logs", "list_services"],
    "default": "search_logs"
  },
  "service_name": {"type": "string", "maxLength": 200},
  "keyword": {"type": "string", "maxLength": 1000, "description": "For search_logs."},
  "limit": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 100},
  "log_level": {"type": "string", "maxLength": 20, "description": "For search_logs."},
  "hours": {"type": "integer", "minimum": 1, "maximum": 8760, "default": 24},
  "lines": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 50}
})";

constexpr std::string_view kPrivacy = R"({
  "function": {
    "type": "string",
    "enum": ["scrub_all_pii", "scrub_emails", "scrub_phone_numbers", "scrub_ssn",
             "scrub_credit_cards", "scrub_ip_addresses", "anonymize_names",
             "create_privacy_report"],
    "default": "scrub_all_pii"
  },
  "text": {"type": "string", "maxLength": 1048576},
  "replacement": {"type": "string", "maxLength": 100},
  "name_map": {"type": "object", "additionalProperties": {"type": "string"}},
  "original": {"type": "string", "maxLength": 1048576},
  "scrubbed": {"type": "string", "maxLength": 1048576}
})";

constexpr std::string_view kWorkspace = R"({
  "function": {
    "type": "string",
    "enum": ["get_workspace_info", "write_file", "read_file", "delete_file", "list_files",
             "file_exists", "create_directory", "save_checkpoint", "load_checkpoint",
             "list_checkpoints", "delete_checkpoint"],
    "default": "get_workspace_info"
  },
  "filepath": {"type": "string", "maxLength": 1024},
  "content": {"type": "string", "maxLength": 10485760},
  "overwrite": {"type": "boolean", "default": true},
  "directory": {"type": "string", "maxLength": 1024},
  "recursive": {"type": "boolean", "default": false},
  "name": {"type": "string", "maxLength": 100, "description": "Of a checkpoint."},
  "data": {"description": "What a checkpoint keeps: anything that JSON holds."}
})";

constexpr std::string_view kSkills = R"({
  "function": {
    "type": "string",
    "enum": ["list_skills", "save_skill", "get_skill", "run_skill", "delete_skill",
             "update_skill", "search_skills"],
    "default": "list_skills"
  },
  "name": {"type": "string", "maxLength": 50},
  "code": {"type": "string", "maxLength": 51200},
  "description": {"type": "string", "maxLength": 2000},
  "parameters": {"type": "object"},
  "returns": {"type": "string", "maxLength": 2000},
  "example": {"type": "string", "maxLength": 2000},
  "version": {"type": "string", "maxLength": 20},
  "query": {"type": "string", "maxLength": 200},
  "arguments": {"type": "object", "description": "For run_skill: what its function is given."}
})";

constexpr std::string_view kRunSkill = R"({
  "name": {"type": "string", "minLength": 1, "maxLength": 50},
  "function": {
    "type": "string",
    "maxLength": 100,
    "description": "Of the skill; its first if left out."
  }
})";

constexpr std::string_view kToolDiscovery = R"({
  "function": {
    "type": "string",
    "enum": ["list_available_tools", "get_tool_info", "search_tools", "generate_tool_stubs",
             "refresh_tool_stubs"],
    "default": "list_available_tools"
  },
  "module": {"type": "string", "maxLength": 100},
  "name": {"type": "string", "maxLength": 100},
  "query": {"type": "string", "maxLength": 200},
  "force": {"type": "boolean", "default": false}
})";

constexpr std::string_view kNone = "{}";

// Whether the function finds files of a conversation: none, those of one that is named, or always.
enum class Keeping { Nothing, Named, Files };

struct Route {
    std::string_view tool;
    std::string_view module;
    std::string_view function;  // unless the caller names another
    Keeping keeping;
    std::string_view properties;
    std::string_view title;
    std::string_view description;
};

constexpr std::array kRoutes = std::to_array<Route>({
    {"log_store", "log_store", "search_logs", Keeping::Named, kLogStore, "Search logs",
     "Searches the log files of a service and gives only what fits: use it instead of reading "
     "whole logs. search_logs gives lines with the keyword, get_error_summary counts errors by "
     "type, tail_logs gives the last lines, list_services says which logs there are. Example: "
     "{\"function\": \"search_logs\", \"service_name\": \"payment-service\", \"keyword\": "
     "\"ERROR\", \"limit\": 20}"},
    {"privacy", "privacy", "scrub_all_pii", Keeping::Nothing, kPrivacy, "Remove personal data",
     "Replaces personal data in a text by marks: e-mail addresses, phone numbers, social security "
     "numbers, credit cards, IP addresses. Use it before a text leaves the place where it may be "
     "known. create_privacy_report compares original and scrubbed; anonymize_names takes names "
     "out. Example: {\"text\": \"mail ada@example.com\"}"},
    {"workspace", "workspace", "get_workspace_info", Keeping::Files, kWorkspace,
     "Work with files that stay",
     "Writes, reads, lists and deletes files that stay between calls, and keeps checkpoints. Use "
     "it for results that later calls need. At most 10 MiB for a file and 100 MiB in all; text "
     "formats only. Example: {\"function\": \"write_file\", \"filepath\": \"notes.md\", "
     "\"content\": \"done\"}"},
    {"get_workspace_info", "workspace", "get_workspace_info", Keeping::Files, kNone,
     "Describe the workspace",
     "Says how many files the workspace has, how much room is used and what may be stored. Use it "
     "before writing much. Takes no arguments. Example: {}"},
    {"skills", "skills", "list_skills", Keeping::Files, kSkills, "Keep pieces of code",
     "Keeps pieces of Python code under names, to be run again: save_skill, get_skill, run_skill, "
     "update_skill, delete_skill, search_skills, list_skills. Use it for code that you need more "
     "than once. At most 50 KiB for each and 100 in all. Example: {\"function\": \"save_skill\", "
     "\"name\": \"double\", \"code\": \"def double(x):\\n    return 2 * x\", "
     "\"description\": \"Doubles a number\"}"},
    {"list_skills", "skills", "list_skills", Keeping::Files, kNone, "List skills",
     "Lists the pieces of code that skills keeps. Use it to see what can be run with run_skill. "
     "Takes no arguments. Example: {}"},
    {"run_skill", "skills", "run_skill", Keeping::Files, kRunSkill, "Run a skill",
     "Runs a function of a piece of code that skills keeps; further arguments are given to it. "
     "Comes back with what it returned. Example: {\"name\": \"double\", \"x\": 21}"},
    {"tool_discovery", "tool_discovery", "list_available_tools", Keeping::Files, kToolDiscovery,
     "Find functions of modules",
     "Tells which functions the approved modules have, with signatures and descriptions. Use it to "
     "find what a program can import. Example: {\"function\": \"search_tools\", \"query\": "
     "\"scrub\"}"},
    {"list_available_tools", "tool_discovery", "list_available_tools", Keeping::Nothing, kNone,
     "List functions of modules",
     "Lists the functions of all approved modules, by module. Use it to see what a program can "
     "import. Takes no arguments. Example: {}"},
    {"get_available_tools", "tool_discovery", "list_available_tools", Keeping::Nothing, kNone,
     "List functions of modules",
     "Lists the functions of all approved modules, by module, as list_available_tools does. Use it "
     "to see what a program can import. Takes no arguments. Example: {}"},
});

const Route& route_of(std::string_view tool) {
    return *std::ranges::find(kRoutes, tool, &Route::tool);
}

ToolDefinition define(std::string_view tool) {
    const Route& route = route_of(tool);
    json::object input = schema_from(kNoArguments);
    input["properties"] = schema_from(route.properties);
    if (route.keeping != Keeping::Nothing) {
        input.at("properties").as_object()["conversation_id"] = {
            {"type", "string"},
            {"minLength", 1},
            {"maxLength", 256},
            {"description", "Whose files; one of your own if left out."}};
    }
    if (tool == "run_skill") {
        input["required"] = json::array{"name"};
        input["additionalProperties"] = true;
    }
    const bool reads = tool == "log_store" || tool == "privacy" || route.properties == kNone;
    return {.name = std::string(route.tool),
            .title = std::string(route.title),
            .description = std::string(route.description),
            .input_schema = std::move(input),
            .output_schema = schema_from(kOutput),
            .annotations = annotations_for(route.title, reads ? Effect::Nothing : Effect::Destroys),
            .icon = icon_of(Symbol::Search)};
}

Script script_for(const Route& route, ToolCall call) {
    const bool calls_skill = route.tool == "run_skill";
    std::string function(route.function);
    if (!calls_skill && is_given(call.arguments, "function")) {
        function = text_of(call.arguments, "function");
        call.arguments.erase("function");
    }
    std::optional<std::string> conversation;
    if (is_given(call.arguments, "conversation_id")) {
        conversation = text_of(call.arguments, "conversation_id");
    } else if (route.keeping == Keeping::Files) {
        conversation = kUsualConversation;
    }
    call.arguments.erase("conversation_id");
    return {.program = "python/call_tool.py",
            .input = json::object{{"module", route.module},
                                  {"function", std::move(function)},
                                  {"arguments", std::move(call.arguments)}},
            .principal = std::move(call.principal),
            .conversation_id = std::move(conversation)};
}

bool is_module_name(std::string_view name) {
    constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return !name.empty() && name.size() <= 100 &&
           name.find_first_not_of(kLetters) == std::string_view::npos;
}

ToolOutcome refuse(std::string_view tool, std::string message) {
    return {
        .text = "Error: " + message,
        .structured =
            json::object{
                {"success", false}, {"output", ""}, {"tool", tool}, {"error", std::move(message)}},
        .failed = true};
}

// What a function returned: a text as it is, anything else as JSON.
ToolOutcome accept(std::string_view tool, const json::value& value) {
    std::string output = value.is_string() ? std::string(value.get_string()) : pretty(value);
    const bool truncated = output.size() > kLongestOutput;
    if (truncated) {
        output = fmt::format("{}\n... [OUTPUT TRUNCATED - exceeded {} chars]",
                             utf8_beginning(output, kLongestOutput), kLongestOutput);
    }
    json::object structured{{"success", true}, {"output", output}, {"tool", tool}};
    if (truncated) {
        structured["truncated"] = true;
    }
    return {.text = std::move(output), .structured = std::move(structured)};
}

ToolOutcome answer(std::string_view tool, const ScriptEnd& end) {
    if (!end.run.success()) {
        return refuse(tool, text_view(end.run));
    }
    const json::object* object = end.value ? end.value->if_object() : nullptr;
    if (object == nullptr) {
        return refuse(tool, "the function returned more than can be shown; ask for less");
    }
    if (const json::value* error = object->if_contains("error"); error && error->is_string()) {
        return refuse(tool, std::string(error->get_string()));
    }
    const json::value* value = object->if_contains("value");
    return accept(tool, value != nullptr ? *value : json::value{});
}

}  // namespace

ToolDefinition define_log_store(const engine::SandboxInfo& /*info*/) { return define("log_store"); }
ToolDefinition define_privacy(const engine::SandboxInfo& /*info*/) { return define("privacy"); }
ToolDefinition define_workspace(const engine::SandboxInfo& /*info*/) { return define("workspace"); }
ToolDefinition define_get_workspace_info(const engine::SandboxInfo& /*info*/) {
    return define("get_workspace_info");
}
ToolDefinition define_skills(const engine::SandboxInfo& /*info*/) { return define("skills"); }
ToolDefinition define_list_skills(const engine::SandboxInfo& /*info*/) {
    return define("list_skills");
}
ToolDefinition define_run_skill(const engine::SandboxInfo& /*info*/) { return define("run_skill"); }
ToolDefinition define_tool_discovery(const engine::SandboxInfo& /*info*/) {
    return define("tool_discovery");
}
ToolDefinition define_list_available_tools(const engine::SandboxInfo& /*info*/) {
    return define("list_available_tools");
}
ToolDefinition define_get_available_tools(const engine::SandboxInfo& /*info*/) {
    return define("get_available_tools");
}

Task<Result<ToolOutcome>> call_module(ToolContext context, ToolCall call,
                                      engine::CancellationPtr cancellation) {
    const Route& route = route_of(call.name);
    const Script script = script_for(route, std::move(call));
    Result<ScriptEnd> end = co_await run_script(context.executor, script, cancellation);
    if (!end && end.error().code == ErrorCode::Unsupported && script.conversation_id) {
        // Nothing outlives a run here; what needs no files of before works all the same.
        Script without = script;
        without.conversation_id.reset();
        end = co_await run_script(context.executor, std::move(without), std::move(cancellation));
    }
    BJ_CO_TRY(const ScriptEnd ended, std::move(end));
    co_return answer(route.tool, ended);
}

Task<Result<ToolOutcome>> call_other_module(ToolContext context, ToolCall call,
                                            engine::CancellationPtr cancellation) {
    const std::string missing = fmt::format("Tool '{}' not found", call.name);
    if (!is_module_name(call.name)) {
        co_return fail(ErrorCode::NotFound, missing);
    }
    Script script{.program = "python/call_tool.py",
                  .input = json::object{{"module", call.name},
                                        {"function", nullptr},
                                        {"arguments", std::move(call.arguments)}},
                  .principal = std::move(call.principal)};
    BJ_CO_TRY(const ScriptEnd end,
              co_await run_script(context.executor, std::move(script), std::move(cancellation)));
    ToolOutcome outcome = answer(call.name, end);
    if (outcome.failed && outcome.text.starts_with("Error: " + missing)) {
        co_return fail(ErrorCode::NotFound, missing);
    }
    co_return outcome;
}

}  // namespace belljar::mcp
