#include "mcp/script_run.h"

#include "runner/manifest.h"

namespace belljar::mcp {
namespace {

// What is worth showing; the end of a traceback.
constexpr Bytes kOutput = kibibytes(128);

}  // namespace

Task<Result<ScriptEnd>> run_script(ToolContext context, ToolCall call, Script script,
                                   engine::CancellationPtr cancellation) {
    execution::RunRequest request;
    BJ_CO_TRY(const std::string program, runner::embedded_guest_program(script.program));
    request.code = script.heading + program;
    request.principal = call.principal;
    mark(request, call);
    request.author = script.author;
    request.language = std::move(script.language);
    request.language_given = true;
    request.stdin_text = to_text(script.input);
    request.files = std::move(script.files);
    request.conversation_id = std::move(script.conversation_id);
    request.timeout = script.timeout;
    request.output = kOutput;
    ScriptEnd end;
    BJ_CO_TRY(end.run,
              co_await context.executor->execute(std::move(request), std::move(cancellation)));
    if (end.run.success() && end.run.result_json) {
        Result<json::value> value = parse_json(*end.run.result_json);
        if (value) {
            end.value = std::move(*value);
        }
    }
    co_return end;
}

}  // namespace belljar::mcp
