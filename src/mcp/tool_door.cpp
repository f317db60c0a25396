#include "mcp/tool_door.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "access/challenge.h"
#include "access/gate.h"
#include "base/utf8.h"
#include "engine/run_arguments.h"
#include "execution/error_wire.h"
#include "mcp/pretty_json.h"
#include "mcp/text_view.h"
#include "mcp/tool_arguments.h"
#include "policy/rulebook.h"

namespace belljar::mcp {
namespace {

using access::HttpRequest;
using access::HttpResponse;
using execution::RunResult;
using execution::Status;

constexpr std::size_t kLongestOutput = 100'000;  // characters
constexpr std::uint64_t kUsualSeconds = 30;

HttpResponse fault(unsigned status, std::string message) {
    return {.status = status,
            .body = to_text(
                json::object{{"success", false}, {"error", std::move(message)}, {"output", ""}})};
}

HttpResponse accept(std::string_view tool, std::string output) {
    return {.body = to_text(
                json::object{{"success", true}, {"output", std::move(output)}, {"tool", tool}})};
}

Result<json::object> read_object(const std::string& body) {
    Result<json::value> value = parse_json(body);
    if (!value) {
        return fail(ErrorCode::InvalidArgument, "Invalid JSON: " + value.error().message);
    }
    if (!value->is_object()) {
        return fail(ErrorCode::InvalidArgument, "Invalid JSON: the body must be an object");
    }
    return std::move(value->get_object());
}

// Everything that the program wrote, one stream after the other.
std::string written(const RunResult& result) {
    std::string text = make_valid_utf8(result.stdout_stream.text);
    const std::string errors = make_valid_utf8(result.stderr_stream.text);
    text += text.empty() || errors.empty() || text.ends_with('\n') ? "" : "\n";
    return text + errors;
}

// "Import of 'os' is not allowed. Allowed modules: json, math", as that service says it.
std::string import_failure(const std::string& message, const std::vector<std::string>& allowed) {
    constexpr std::string_view kOwnEnding = " in sandbox";
    if (allowed.empty() || !message.ends_with(kOwnEnding)) {
        return "Import error: " + message;
    }
    return fmt::format("Import error: {}. Allowed modules: {}",
                       message.substr(0, message.size() - kOwnEnding.size()),
                       fmt::join(allowed, ", "));
}

// What the program could import, sorted; nothing if that was everything.
std::vector<std::string> allowed_modules(const engine::Executor& executor, const RunResult& result,
                                         const std::optional<std::vector<std::string>>& listed) {
    const std::shared_ptr<const policy::Rulebook> rules = executor.rulebook();
    const Result<const policy::Profile*> profile =
        rules ? rules->find(result.profile) : fail(ErrorCode::NotFound, "");
    std::vector<std::string> modules = listed.value_or(std::vector<std::string>());
    if (profile && !listed) {
        modules = result.language == "python" ? (*profile)->python.modules
                                              : (*profile)->javascript.modules;
    }
    std::ranges::sort(modules);
    return modules;
}

std::string failure(const RunResult& result, std::uint64_t seconds,
                    const std::vector<std::string>& allowed) {
    if (result.status == Status::Timeout) {
        return fmt::format("Code execution timed out after {} seconds", seconds);
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

json::object view_of(const RunResult& result, std::uint64_t seconds,
                     const std::vector<std::string>& allowed) {
    std::string output = written(result);
    const bool cut = output.size() > kLongestOutput;
    if (cut) {
        output = fmt::format("{}\n... [OUTPUT TRUNCATED - exceeded {} chars]",
                             utf8_beginning(output, kLongestOutput), kLongestOutput);
    }
    json::object view{{"success", result.success()}, {"output", std::move(output)}};
    view["error"] = nullptr;
    if (!result.success()) {
        view["error"] = make_valid_utf8(failure(result, seconds, allowed));
    }
    view["truncated"] = cut;
    return view;
}

// A tool of this dialect says itself what its output is; of others it is what they show.
HttpResponse view_of(std::string_view tool, const ToolOutcome& outcome) {
    const json::object* told = outcome.structured ? &*outcome.structured : nullptr;
    if (outcome.failed) {
        const json::value* error = told != nullptr ? told->if_contains("error") : nullptr;
        return fault(told == nullptr ? 400 : 500, error != nullptr && error->is_string()
                                                      ? std::string(error->get_string())
                                                      : outcome.text);
    }
    if (const json::value* output = told != nullptr ? told->if_contains("output") : nullptr;
        output != nullptr && output->is_string() && told->contains("tool")) {
        return accept(tool, std::string(output->get_string()));
    }
    if (const json::value* results = told != nullptr ? told->if_contains("results") : nullptr) {
        return accept(tool, pretty(*results));
    }
    return accept(tool, told != nullptr ? pretty(*told) : outcome.text);
}

}  // namespace

bool ToolDoor::names_tool(const HttpRequest& request) {
    if (request.method != "POST" || !request.body.contains("\"tool\"")) {
        return false;
    }
    const Result<json::value> value = parse_json(request.body);
    return value && value->is_object() && value->get_object().contains("tool") &&
           !value->get_object().contains("code");
}

Task<HttpResponse> ToolDoor::call_tool(HttpRequest request, engine::CancellationPtr cancellation) {
    Result<json::object> wanted = read_object(request.body);
    if (!wanted) {
        co_return fault(400, wanted.error().message);
    }
    const json::value* name = wanted->if_contains("tool");
    const json::value* arguments = wanted->if_contains("arguments");
    if (name == nullptr || !name->is_string() ||
        (arguments != nullptr && !arguments->is_object() && !arguments->is_null())) {
        co_return fault(400, "\"tool\" must be a name, and \"arguments\" an object");
    }
    std::string tool(name->get_string());
    if (!Toolbox::need_of(tool)) {
        co_return fault(404, fmt::format("Tool '{}' not found", tool));
    }
    if (const access::Rights needed = Toolbox::rights_of(tool);
        !access::allows(request.rights, needed)) {
        co_return access::insufficient_scope(request, needed);
    }
    // Whom the caller names is its own word: the principal is the one whose token it showed.
    log_.info("a tool is called", {{"tool", tool},
                                   {"principal", request.principal},
                                   {"user", utf8_beginning(text_of(*wanted, "user"), 256)}});
    json::object given =
        arguments != nullptr && arguments->is_object() ? arguments->get_object() : json::object{};
    if (tool == "execute_code") {
        HttpResponse response = co_await execute_code(
            std::move(given), std::move(request.principal), std::move(cancellation));
        co_return response;
    }
    RpcResult<ToolOutcome> outcome = co_await toolbox_.call(
        {.name = tool, .arguments = std::move(given), .principal = std::move(request.principal)},
        std::move(cancellation));
    co_return outcome ? view_of(tool, *outcome) : fault(500, outcome.error().message);
}

// In the words of this dialect, which are not those of our own tool of that name.
Task<HttpResponse> ToolDoor::execute_code(json::object arguments, std::string principal,
                                          engine::CancellationPtr cancellation) {
    if (text_of(arguments, "code").empty()) {
        co_return accept("execute_code", pretty(json::object{{"success", false},
                                                             {"output", ""},
                                                             {"error", "No code provided"},
                                                             {"truncated", false}}));
    }
    const std::uint64_t seconds = number_of(arguments, "timeout", kUsualSeconds);
    Result<execution::RunRequest> run = engine::parse_run_arguments(arguments);
    if (!run) {
        co_return fault(400, run.error().message);
    }
    run->principal = std::move(principal);
    run->timeout = run->timeout.value_or(std::chrono::seconds(kUsualSeconds));
    const std::optional<std::vector<std::string>> listed = run->allowed_imports;
    const Result<RunResult> result =
        co_await executor_.execute(std::move(*run), std::move(cancellation));
    if (!result) {
        co_return fault(execution::http_status(result.error().code),
                        execution::client_message(result.error()));
    }
    co_return accept("execute_code", pretty(view_of(*result, seconds,
                                                    allowed_modules(executor_, *result, listed))));
}

// Whatever media type is said: the lines in that service's document name none.
Task<HttpResponse> ToolDoor::install_package(HttpRequest request,
                                             engine::CancellationPtr cancellation) {
    if (const access::Rights needed = Toolbox::rights_of("pip_install");
        !access::allows(request.rights, needed)) {
        co_return access::insufficient_scope(request, needed);
    }
    Result<json::object> wanted = read_object(request.body);
    if (!wanted) {
        co_return access::make_refusal(400, wanted.error().message);
    }
    RpcResult<ToolOutcome> outcome =
        co_await toolbox_.call({.name = "pip_install",
                                .arguments = std::move(*wanted),
                                .principal = std::move(request.principal)},
                               std::move(cancellation));
    if (!outcome) {
        co_return access::make_refusal(500, outcome.error().message);
    }
    if (!outcome->structured) {
        co_return access::make_refusal(400, outcome->text);
    }
    co_return HttpResponse{.body = to_text(*outcome->structured)};
}

}  // namespace belljar::mcp
