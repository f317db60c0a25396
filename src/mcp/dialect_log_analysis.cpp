#include "mcp/dialect_log_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>

#include "base/utf8.h"
#include "crypto/digest.h"
#include "engine/conversations.h"
#include "mcp/pretty_json.h"
#include "mcp/script_run.h"
#include "mcp/text_view.h"
#include "mcp/tool_arguments.h"
#include "mcp/tool_schemas.h"

namespace belljar::mcp {
namespace {

// As its document says: characters of an answer.
constexpr std::size_t kLongestOutput = 100'000;
// Beyond what the module takes.
constexpr Bytes kLongestSkill = kibibytes(64);
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

// What a caller wants of a module.
struct ModuleCall {
    std::string_view module;
    std::string function{};
    json::object arguments{};
    std::optional<std::string> conversation{};
};

ModuleCall read_module_call(const Route& route, json::object arguments) {
    ModuleCall wanted{.module = route.module, .function = std::string(route.function)};
    if (route.tool != "run_skill" && is_given(arguments, "function")) {
        wanted.function = text_of(arguments, "function");
        arguments.erase("function");
    }
    if (is_given(arguments, "conversation_id")) {
        wanted.conversation = text_of(arguments, "conversation_id");
    } else if (route.keeping == Keeping::Files) {
        wanted.conversation = kUsualConversation;
    }
    arguments.erase("conversation_id");
    wanted.arguments = std::move(arguments);
    return wanted;
}

Script script_for(ModuleCall wanted) {
    return {.program = "python/call_tool.py",
            .input = json::object{{"module", wanted.module},
                                  {"function", std::move(wanted.function)},
                                  {"arguments", std::move(wanted.arguments)}},
            .conversation_id = std::move(wanted.conversation)};
}

bool runs_skill(const ModuleCall& wanted) {
    return wanted.module == "skills" && wanted.function == "run_skill";
}

// The module says in words why there is no such skill.
ModuleCall call_for_skill(const ModuleCall& wanted) {
    ModuleCall skill{
        .module = wanted.module, .function = "get_skill", .conversation = wanted.conversation};
    if (const json::value* name = wanted.arguments.if_contains("name")) {
        skill.arguments["name"] = *name;
    }
    return skill;
}

bool is_name(std::string_view name, std::string_view more_letters) {
    const auto fits = [more_letters](char letter) {
        constexpr std::string_view kLetters =
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
        return kLetters.contains(letter) || more_letters.contains(letter);
    };
    return !name.empty() && name.size() <= 100 && std::ranges::all_of(name, fits);
}

// Where the module keeps the code of one.
execution::FileName file_of_skill(const std::string& principal, const ModuleCall& wanted) {
    return {.principal = principal,
            .conversation_id = wanted.conversation.value_or(""),
            .path = fmt::format("skills/{}/implementation.py", text_of(wanted.arguments, "name"))};
}

// A skill is its caller's program, so its code comes along with the run, which reads it before and
// lets it import what the caller's profile allows. What is read is what runs: it takes the place of
// the file that was kept.
Script script_for_skill(ModuleCall wanted, std::string path, std::string code) {
    Script script{.program = "python/call_skill.py",
                  .heading = fmt::format("# Of a skill: {}\n", crypto::sha256_hex(code)),
                  .author = execution::Author::Caller,
                  .input = std::move(wanted.arguments),
                  .conversation_id = std::move(wanted.conversation)};
    script.files.emplace(std::move(path), std::move(code));
    return script;
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

// Where nothing outlives a run, what needs no files of before works all the same.
Task<Result<ScriptEnd>> run_with_files(ToolContext context, ToolCall call, Script script,
                                       engine::CancellationPtr cancellation) {
    Result<ScriptEnd> end = co_await run_script(context, call, script, cancellation);
    if (!end && end.error().code == ErrorCode::Unsupported && script.conversation_id) {
        script.conversation_id.reset();
        end = co_await run_script(context, std::move(call), std::move(script),
                                  std::move(cancellation));
    }
    co_return end;
}

// The program that does what is wished.
Task<Result<Script>> find_script(ToolContext context, std::string principal, ModuleCall wanted) {
    if (!runs_skill(wanted)) {
        co_return script_for(std::move(wanted));
    }
    if (!is_name(text_of(wanted.arguments, "name"), "-")) {
        co_return script_for(call_for_skill(wanted));
    }
    execution::FileName file = file_of_skill(principal, wanted);
    Result<execution::FilePart> kept = co_await context.executor->conversations().read_for_run(
        file, {.length = kLongestSkill.count});
    if (!kept) {
        const ErrorCode code = kept.error().code;
        if (code != ErrorCode::NotFound && code != ErrorCode::Unsupported) {
            co_return fail(kept.error());
        }
        co_return script_for(call_for_skill(wanted));
    }
    if (kept->content.size() < kept->file.size) {
        co_return fail(ErrorCode::TooLarge,
                       fmt::format("A skill may have at most {} bytes.", kLongestSkill.count));
    }
    co_return script_for_skill(std::move(wanted), std::move(file.path), std::move(kept->content));
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
    ModuleCall wanted = read_module_call(route, std::move(call.arguments));
    BJ_CO_TRY(Script script, co_await find_script(context, call.principal, std::move(wanted)));
    BJ_CO_TRY(const ScriptEnd end,
              co_await run_with_files(context, std::move(call), std::move(script),
                                      std::move(cancellation)));
    co_return answer(route.tool, end);
}

Task<Result<ToolOutcome>> call_other_module(ToolContext context, ToolCall call,
                                            engine::CancellationPtr cancellation) {
    const std::string missing = fmt::format("Tool '{}' not found", call.name);
    if (!is_name(call.name, "")) {
        co_return fail(ErrorCode::NotFound, missing);
    }
    Script script{.program = "python/call_tool.py",
                  .input = json::object{{"module", call.name},
                                        {"function", nullptr},
                                        {"arguments", std::move(call.arguments)}}};
    BJ_CO_TRY(const ScriptEnd end,
              co_await run_script(context, call, std::move(script), std::move(cancellation)));
    ToolOutcome outcome = answer(call.name, end);
    if (outcome.failed && outcome.text.starts_with("Error: " + missing)) {
        co_return fail(ErrorCode::NotFound, missing);
    }
    co_return outcome;
}

}  // namespace belljar::mcp
