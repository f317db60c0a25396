#include "mcp/dialect_code_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "base/base64.h"
#include "base/utf8.h"
#include "engine/conversations.h"
#include "mcp/pretty_json.h"
#include "mcp/text_view.h"
#include "mcp/tool_arguments.h"
#include "mcp/tool_schemas.h"

namespace belljar::mcp {
namespace {

using execution::RunResult;

constexpr std::string_view kRunInput = R"({
  "type": "object",
  "properties": {
    "conversationId": {
      "type": "string",
      "minLength": 1,
      "maxLength": 256,
      "description": "Names the files in /data that programs share."
    },
    "language": {"type": "string", "minLength": 1, "maxLength": 64},
    "code": {"type": "string", "minLength": 1},
    "network": {
      "type": "boolean",
      "default": false,
      "description": "Only false: programs have no network here."
    },
    "environment": {
      "type": "object",
      "additionalProperties": {"type": "string"},
      "description": "Environment variables."
    }
  },
  "required": ["conversationId", "language", "code"],
  "additionalProperties": false
})";

constexpr std::string_view kFile = R"({
  "type": "object",
  "properties": {"name": {"type": "string"}, "url": {"type": "string"}},
  "required": ["name", "url"],
  "additionalProperties": false
})";

constexpr std::string_view kOlderOutput = R"({
  "type": "object",
  "properties": {
    "success": {"type": "boolean"},
    "output": {"type": "string"},
    "files": {"type": "array"}
  },
  "required": ["success", "output", "files"],
  "additionalProperties": false
})";

constexpr std::string_view kNewerOutput = R"({
  "type": "object",
  "properties": {
    "success": {"type": "boolean"},
    "stdout": {"type": "string"},
    "stderr": {"type": "string"}
  },
  "required": ["success", "stdout", "stderr"],
  "additionalProperties": false
})";

constexpr std::string_view kRunnersOutput = R"({
  "type": "object",
  "properties": {
    "languages": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {"language": {"type": "string"}, "image": {"type": "string"}},
        "required": ["language", "image"],
        "additionalProperties": false
      }
    }
  },
  "required": ["languages"],
  "additionalProperties": false
})";

constexpr std::string_view kUploadInput = R"({
  "type": "object",
  "properties": {
    "conversationId": {"type": "string", "minLength": 1, "maxLength": 256},
    "filename": {"type": "string", "minLength": 1, "maxLength": 1024},
    "content": {"type": "string", "description": "The bytes of the file in base64."}
  },
  "required": ["conversationId", "filename", "content"],
  "additionalProperties": false
})";

constexpr std::string_view kUploadOutput = R"({
  "type": "object",
  "properties": {
    "success": {"type": "boolean"},
    "message": {"type": "string"},
    "file": {"type": "object"}
  },
  "required": ["success", "message"],
  "additionalProperties": false
})";

struct Description {
    std::string_view name;
    std::string_view title;
    std::string_view text;
};

ToolDefinition define(const Description& description, json::object input, json::object output,
                      Effect effect, Symbol symbol) {
    return {.name = std::string(description.name),
            .title = std::string(description.title),
            .description = std::string(description.text),
            .input_schema = std::move(input),
            .output_schema = std::move(output),
            .annotations = annotations_for(description.title, effect),
            .icon = icon_of(symbol)};
}

json::object run_input(const engine::SandboxInfo& info) {
    json::object input = schema_from(kRunInput);
    describe_member(input, "language", fmt::format("One of: {}.", language_names(info)));
    return input;
}

ToolOutcome answer(json::object object) {
    std::string text = pretty(object);
    return {.text = std::move(text), .structured = std::move(object)};
}

bool is_language(const engine::SandboxInfo& info, const std::string& name) {
    return std::ranges::any_of(info.runners, [&name](const engine::SandboxInfo::Runner& runner) {
        return runner.usable && (runner.language == name ||
                                 std::ranges::find(runner.aliases, name) != runner.aliases.end());
    });
}

execution::RunRequest read_request(const ToolCall& call) {
    execution::RunRequest request{.principal = call.principal,
                                  .code = text_of(call.arguments, "code"),
                                  .language = text_of(call.arguments, "language"),
                                  .language_given = true,
                                  .conversation_id = text_of(call.arguments, "conversationId")};
    mark(request, call);
    if (is_given(call.arguments, "environment")) {
        for (const auto& [name, value] : call.arguments.at("environment").get_object()) {
            request.environment[std::string(name)] = std::string(value.get_string());
        }
    }
    return request;
}

Result<void> refuse_network(const ToolCall& call) {
    if (is_true(call.arguments, "network")) {
        return fail(ErrorCode::Unsupported, "programs have no network here; leave network out");
    }
    return {};
}

std::string joined(const std::string& first, const std::string& second) {
    const bool both = !first.empty() && !second.empty();
    return first + (both ? "\n" : "") + second;
}

// What the run said of itself, with the reason in front if it was not its own end.
std::string output_of(const RunResult& result) {
    const std::string output = joined(make_valid_utf8(result.stdout_stream.text),
                                      make_valid_utf8(result.stderr_stream.text));
    if (result.status == execution::Status::Timeout) {
        return fmt::format("Execution timed out after {:.0f}s\n{}", to_seconds(result.usage.wall),
                           output);
    }
    const bool told = result.success() || result.status == execution::Status::Error;
    return told ? output : joined(output, status_line(result));
}

std::string stderr_of(const RunResult& result) {
    const std::string text = make_valid_utf8(result.stderr_stream.text);
    const bool told = result.success() || result.status == execution::Status::Error;
    return told ? text : joined(text, status_line(result));
}

// An address that a browser can open, if there is such.
std::string url_of(const engine::Conversations& conversations, const execution::FileName& name) {
    const std::string url = conversations.url_of(name);
    return url.empty() ? engine::file_uri(name.conversation_id, name.path) : url;
}

// Those at the top of /data after the run, in the order of their names.
json::array files_of(const RunResult& result, const engine::Conversations& conversations,
                     execution::FileName where,
                     const Result<std::vector<execution::FileView>>& kept) {
    json::array files;
    if (!kept) {
        for (const execution::ProducedFile& file : result.files) {
            files.push_back({{"name", make_valid_utf8(file.name)}, {"url", file.url}});
        }
        return files;
    }
    for (const execution::FileView& file : *kept) {
        if (file.path.contains('/')) {
            continue;
        }
        where.path = file.path;
        files.push_back(
            {{"name", make_valid_utf8(file.path)}, {"url", url_of(conversations, where)}});
    }
    return files;
}

}  // namespace

ToolDefinition define_sandbox_run_code(const engine::SandboxInfo& info) {
    json::object output = schema_from(kOlderOutput);
    output.at("properties").at("files").as_object()["items"] = schema_from(kFile);
    return define({"sandbox.run_code", "Run code in a sandbox",
                   "Runs code in a fresh sandbox without network. Use it to compute; programs of "
                   "one conversationId share the files in /data. Comes back with success, output "
                   "(stdout, then stderr) and the files at the top of /data, each with an address. "
                   "A run ends after 30 seconds. Example: {\"conversationId\": \"test\", "
                   "\"language\": \"python\", \"code\": \"print('Hello!')\"}"},
                  run_input(info), std::move(output), Effect::Adds, Symbol::Play);
}

ToolDefinition define_run_code(const engine::SandboxInfo& info) {
    return define({"run_code", "Run code in a sandbox",
                   "Runs code in a fresh sandbox without network. Use it to compute; programs of "
                   "one conversationId share the files in /data. Comes back with success, stdout "
                   "and stderr. A run ends after 30 seconds. Example: {\"conversationId\": "
                   "\"test\", \"language\": \"python\", \"code\": \"print('Hello!')\"}"},
                  run_input(info), schema_from(kNewerOutput), Effect::Adds, Symbol::Play);
}

ToolDefinition define_sandbox_list_runners(const engine::SandboxInfo& /*info*/) {
    return define({"sandbox.list_runners", "List languages",
                   "Lists the languages that sandbox.run_code can run, each with what runs it. Use "
                   "it before relying on a language. Takes no arguments. Example: {}"},
                  schema_from(kNoArguments), schema_from(kRunnersOutput), Effect::Nothing,
                  Symbol::Lens);
}

ToolDefinition define_list_runners(const engine::SandboxInfo& /*info*/) {
    return define({"list_runners", "List languages",
                   "Lists the languages that run_code can run, each with what runs it. Use it "
                   "before relying on a language. Takes no arguments. Example: {}"},
                  schema_from(kNoArguments), schema_from(kRunnersOutput), Effect::Nothing,
                  Symbol::Lens);
}

ToolDefinition define_upload_file(const engine::SandboxInfo& /*info*/) {
    json::object output = schema_from(kUploadOutput);
    output.at("properties").as_object()["file"] = schema_from(kFile);
    return define({"upload_file", "Upload a file",
                   "Puts a file into /data of a conversation, where run_code with the same "
                   "conversationId finds it; one of the same name is replaced. Use it for input of "
                   "programs. Comes back with success, message and the file's address. Example: "
                   "{\"conversationId\": \"test\", \"filename\": \"a.txt\", \"content\": "
                   "\"SGVsbG8=\"}"},
                  schema_from(kUploadInput), std::move(output), Effect::Destroys, Symbol::Folder);
}

Task<Result<ToolOutcome>> sandbox_run_code(ToolContext context, ToolCall call,
                                           engine::CancellationPtr cancellation) {
    BJ_CO_TRY_VOID(refuse_network(call));
    execution::RunRequest request = read_request(call);
    if (!is_language(context.executor->info(), request.language)) {
        co_return answer({{"success", false},
                          {"output", "Unsupported language: " + request.language},
                          {"files", json::array{}}});
    }
    const execution::FileName where{.principal = request.principal,
                                    .conversation_id = *request.conversation_id};
    BJ_CO_TRY(const RunResult result,
              co_await context.executor->execute(std::move(request), std::move(cancellation)));
    const Result<std::vector<execution::FileView>> kept =
        co_await context.executor->conversations().list_files(where);
    co_return answer({{"success", result.success()},
                      {"output", output_of(result)},
                      {"files", files_of(result, context.executor->conversations(), where, kept)}});
}

Task<Result<ToolOutcome>> run_code(ToolContext context, ToolCall call,
                                   engine::CancellationPtr cancellation) {
    BJ_CO_TRY_VOID(refuse_network(call));
    execution::RunRequest request = read_request(call);
    if (!is_language(context.executor->info(), request.language)) {
        co_return answer({{"success", false},
                          {"stdout", ""},
                          {"stderr", "Unsupported language: " + request.language}});
    }
    BJ_CO_TRY(const RunResult result,
              co_await context.executor->execute(std::move(request), std::move(cancellation)));
    co_return answer({{"success", result.success()},
                      {"stdout", make_valid_utf8(result.stdout_stream.text)},
                      {"stderr", stderr_of(result)}});
}

Task<Result<ToolOutcome>> list_runners(ToolContext context, ToolCall /*call*/,
                                       engine::CancellationPtr /*cancellation*/) {
    const engine::SandboxInfo info = co_await context.executor->survey();
    json::array languages;
    for (const engine::SandboxInfo::Runner& runner : info.runners) {
        if (runner.usable) {
            languages.push_back({{"language", runner.language}, {"image", runner.runner}});
        }
    }
    co_return answer({{"languages", std::move(languages)}});
}

Task<Result<ToolOutcome>> upload_file(ToolContext context, ToolCall call,
                                      engine::CancellationPtr /*cancellation*/) {
    Result<std::string> content = decode_base64(text_of(call.arguments, "content"));
    if (!content) {
        co_return answer({{"success", false}, {"message", "content is not base64"}});
    }
    const execution::FileName name{.principal = call.principal,
                                   .conversation_id = text_of(call.arguments, "conversationId"),
                                   .path = text_of(call.arguments, "filename")};
    engine::Conversations& conversations = context.executor->conversations();
    BJ_CO_TRY(const execution::FileView file,
              co_await conversations.write_file(name, std::move(*content)));
    co_return answer({{"success", true},
                      {"message", fmt::format("Uploaded {} ({} bytes)", file.path, file.size)},
                      {"file", json::object{{"name", make_valid_utf8(file.path)},
                                            {"url", url_of(conversations, name)}}}});
}

}  // namespace belljar::mcp
