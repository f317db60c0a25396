#include "mcp/dialect_sandbox_service.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "mcp/pretty_json.h"
#include "mcp/text_view.h"
#include "mcp/tool_arguments.h"
#include "mcp/tool_schemas.h"

namespace belljar::mcp {
namespace {

// As its document says: characters of each stream.
constexpr std::size_t kLongestServiceOutput = 10'000;

constexpr std::string_view kInput = R"({
  "type": "object",
  "properties": {
    "code": {"type": "string", "description": "Python code to execute."},
    "timeout": {
      "type": "integer",
      "minimum": 1,
      "maximum": 120,
      "default": 30,
      "description": "Execution timeout in seconds."
    }
  },
  "required": ["code"],
  "additionalProperties": false
})";

constexpr std::string_view kServiceOutput = R"({
  "type": "object",
  "properties": {
    "stdout": {"type": "string"},
    "stderr": {"type": "string"},
    "exit_code": {"type": "integer"},
    "execution_time": {"type": "number"},
    "success": {"type": "boolean"}
  },
  "required": ["stdout", "stderr", "exit_code", "execution_time", "success"],
  "additionalProperties": false
})";

std::string first_characters(std::string_view text) {
    std::size_t end = 0;
    for (std::size_t count = 0; count < kLongestServiceOutput && end < text.size(); ++count) {
        end += std::max<std::size_t>(utf8_character_length(text.substr(end)), 1);
    }
    return end < text.size() ? std::string(text.substr(0, end)) + "\n... (output truncated)"
                             : std::string(text);
}

// As the command line says it: 124 for a run out of time, 128 and the signal for a killed one.
int exit_code_of(const execution::RunResult& result) {
    constexpr int kOutOfTime = 124;
    constexpr int kKilled = 128;
    if (result.status == execution::Status::Timeout) {
        return kOutOfTime;
    }
    return result.exit_code.value_or(kKilled + result.signal.value_or(9));
}

std::string stderr_of(const execution::RunResult& result, std::uint64_t seconds) {
    std::string text = make_valid_utf8(result.stderr_stream.text);
    if (result.success() || result.status == execution::Status::Error) {
        return text;
    }
    text += text.empty() || text.ends_with('\n') ? "" : "\n";
    return text + (result.status == execution::Status::Timeout
                       ? fmt::format("Execution timeout after {}s", seconds)
                       : status_line(result));
}

}  // namespace

ToolDefinition define_execute_python(const engine::SandboxInfo& /*info*/) {
    constexpr std::string_view kTitle = "Run Python code";
    return {.name = "execute_python",
            .title = std::string(kTitle),
            .description =
                "Executes Python code in a fresh sandbox without network and returns stdout, "
                "stderr, exit_code, execution_time and success as JSON. Use it to compute or to "
                "check code. Nothing is kept between calls. Each stream is cut after 10,000 "
                "characters, and a run ends after 30 seconds unless timeout says otherwise. "
                "Example: {\"code\": \"print(2 + 2)\", \"timeout\": 10}",
            .input_schema = schema_from(kInput),
            .output_schema = schema_from(kServiceOutput),
            .annotations = annotations_for(kTitle, Effect::Adds),
            .icon = icon_of(Symbol::Play)};
}

Task<Result<ToolOutcome>> execute_python(ToolContext context, ToolCall call,
                                         engine::CancellationPtr cancellation) {
    const std::uint64_t seconds = number_of(call.arguments, "timeout", 30);
    execution::RunRequest request{.principal = std::move(call.principal),
                                  .code = text_of(call.arguments, "code"),
                                  .timeout = std::chrono::seconds(seconds)};
    mark(request, call);
    BJ_CO_TRY(const execution::RunResult result,
              co_await context.executor->execute(std::move(request), std::move(cancellation)));
    json::object answer{{"stdout", first_characters(make_valid_utf8(result.stdout_stream.text))},
                        {"stderr", first_characters(stderr_of(result, seconds))},
                        {"exit_code", exit_code_of(result)},
                        {"execution_time", to_seconds(result.usage.wall)},
                        {"success", result.success()}};
    co_return ToolOutcome{.text = pretty(answer), .structured = std::move(answer)};
}

}  // namespace belljar::mcp
