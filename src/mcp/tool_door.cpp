#include "mcp/tool_door.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "access/challenge.h"
#include "access/gate.h"
#include "base/utf8.h"
#include "execution/error_wire.h"
#include "mcp/dialect_log_analysis.h"
#include "mcp/dialect_log_execute.h"
#include "mcp/pretty_json.h"
#include "mcp/tool_arguments.h"

namespace belljar::mcp {
namespace {

using access::HttpRequest;
using access::HttpResponse;

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
    json::object given =
        arguments != nullptr && arguments->is_object() ? arguments->get_object() : json::object{};
    if (const access::Rights needed = Toolbox::rights_of(tool, given);
        !access::allows(request.rights, needed)) {
        co_return access::insufficient_scope(request, needed);
    }
    // Whom the caller names is its own word: the principal is the one whose token it showed.
    log_.info("a tool is called", {{"tool", tool},
                                   {"principal", request.principal},
                                   {"user", utf8_beginning(text_of(*wanted, "user"), 256)}});
    ToolCall call{.name = tool,
                  .arguments = std::move(given),
                  .principal = std::move(request.principal),
                  .trace = std::move(request.trace),
                  .origin = access::origin_of(request)};
    if (tool == "execute_code") {
        HttpResponse response = co_await execute_code(std::move(call), std::move(cancellation));
        co_return response;
    }
    if (!Toolbox::need_of(tool)) {
        const Result<ToolOutcome> other = co_await call_other_module(
            {.executor = &executor_}, std::move(call), std::move(cancellation));
        co_return other ? view_of(tool, *other)
                        : fault(execution::http_status(other.error().code),
                                execution::client_message(other.error()));
    }
    RpcResult<ToolOutcome> outcome =
        co_await toolbox_.call(std::move(call), std::move(cancellation));
    co_return outcome ? view_of(tool, *outcome) : fault(500, outcome.error().message);
}

// In the words of this dialect, which are not those of our own tool of that name.
Task<HttpResponse> ToolDoor::execute_code(ToolCall call, engine::CancellationPtr cancellation) {
    const Result<ToolOutcome> outcome = co_await execute_for_logs(
        {.executor = &executor_}, std::move(call), std::move(cancellation));
    if (!outcome) {
        const ErrorCode code = outcome.error().code;
        co_return fault(code == ErrorCode::InvalidArgument ? 400 : execution::http_status(code),
                        execution::client_message(outcome.error()));
    }
    co_return accept("execute_code", outcome->text);
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
                                .principal = std::move(request.principal),
                                .trace = std::move(request.trace),
                                .origin = access::origin_of(request)},
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
