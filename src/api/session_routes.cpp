#include "api/session_routes.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>

#include "access/gate.h"
#include "base/json.h"
#include "engine/run_arguments.h"
#include "engine/session_arguments.h"
#include "execution/error_wire.h"
#include "outcome/session_json.h"

namespace belljar::api {
namespace {

using access::HttpRequest;
using access::HttpResponse;
using access::make_refusal;
using execution::SessionAction;
using execution::SessionOrder;

constexpr std::string_view kAll = "/v1/sessions";

HttpResponse refuse(const Error& error) {
    return make_refusal(execution::http_status(error.code), execution::client_message(error));
}

HttpResponse refuse_method(std::string_view allowed) {
    HttpResponse response = make_refusal(405, "this path does not take that method");
    response.headers.emplace_back("Allow", allowed);
    return response;
}

// "cells=3" in a query. Nothing else is understood there.
Result<json::object> arguments_of_query(std::string_view query) {
    json::object arguments;
    if (query.empty()) {
        return arguments;
    }
    constexpr std::string_view kCells = "cells=";
    std::int64_t cells = 0;
    const bool known = query.starts_with(kCells);
    const std::string_view digits = known ? query.substr(kCells.size()) : std::string_view();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), cells);
    if (!known || error != std::errc() || end != digits.data() + digits.size()) {
        return fail(ErrorCode::InvalidArgument, "the query may be cells=N, how many cells back");
    }
    arguments["cells"] = cells;
    return arguments;
}

Result<json::object> arguments_of_body(const std::string& body) {
    if (body.empty()) {
        return json::object{};
    }
    BJ_TRY(json::value value, parse_json(body));
    if (!value.is_object()) {
        return fail(ErrorCode::InvalidArgument,
                    "the body must be an object such as {\"cells\": 1}");
    }
    return std::move(value.get_object());
}

}  // namespace

bool SessionRoutes::is_mine(const HttpRequest& request) {
    return request.path == kAll || request.path.starts_with(std::string(kAll) + "/");
}

Task<HttpResponse> SessionRoutes::answer(HttpRequest request,
                                         engine::CancellationPtr cancellation) {
    const bool reads = request.method == "GET" || request.method == "HEAD";
    if (request.path == kAll && request.method == "POST") {
        HttpResponse begun = co_await begin(std::move(request), std::move(cancellation));
        co_return begun;
    }
    if (request.path == kAll) {
        co_return reads ? list(request.principal) : refuse_method("GET, HEAD, POST");
    }
    const std::string rest = request.path.substr(kAll.size() + 1);
    const std::size_t slash = rest.find('/');
    const std::string action = slash == std::string::npos ? "" : rest.substr(slash + 1);
    if (action.empty()) {
        const SessionOrder order{.principal = request.principal,
                                 .session_id = rest.substr(0, slash),
                                 .action = SessionAction::End};
        if (reads) {
            co_return show(order);
        }
        if (request.method != "DELETE") {
            co_return refuse_method("GET, HEAD, DELETE");
        }
        HttpResponse ended = co_await obey(order);
        co_return ended;
    }
    if (action != "undo" && action != "fork" && action != "reset" && action != "diff") {
        co_return make_refusal(404, "a session has undo, fork, reset and diff");
    }
    const bool fits = action == "diff" ? reads : request.method == "POST";
    if (!fits) {
        co_return refuse_method(action == "diff" ? "GET, HEAD" : "POST");
    }
    Result<json::object> arguments =
        reads ? arguments_of_query(request.query) : arguments_of_body(request.body);
    if (!arguments) {
        co_return refuse(arguments.error());
    }
    (*arguments)["action"] = action;
    (*arguments)["session_id"] = rest.substr(0, slash);
    Result<std::optional<SessionOrder>> order = engine::parse_session_arguments(*arguments);
    if (!order) {
        co_return refuse(order.error());
    }
    (*order)->principal = request.principal;
    HttpResponse response = co_await obey(**order);
    co_return response;
}

// With a first cell that does nothing.
Task<HttpResponse> SessionRoutes::begin(HttpRequest request, engine::CancellationPtr cancellation) {
    Result<json::object> arguments = arguments_of_body(request.body);
    if (arguments) {
        arguments->emplace("code", "");  // unless there is one
        (*arguments)["session"] = true;
    }
    Result<execution::RunRequest> run =
        arguments ? engine::parse_run_arguments(*arguments) : fail(arguments.error());
    if (!run) {
        co_return refuse(run.error());
    }
    run->principal = request.principal;
    const Result<execution::RunResult> result =
        co_await executor_.execute(std::move(*run), std::move(cancellation));
    if (!result) {
        co_return refuse(result.error());
    }
    HttpResponse shown = show(
        {.principal = std::move(request.principal), .session_id = result->session_id.value_or("")});
    shown.status = shown.status == 200 ? 201 : shown.status;
    co_return shown;
}

Task<HttpResponse> SessionRoutes::obey(SessionOrder order) {
    const Result<execution::SessionView> view = co_await executor_.obey(std::move(order));
    co_return view ? HttpResponse{.body = to_text(outcome::to_json(*view))} : refuse(view.error());
}

HttpResponse SessionRoutes::list(const std::string& principal) const {
    json::array sessions;
    for (const execution::SessionView& view : executor_.list_sessions(principal)) {
        sessions.push_back(outcome::to_json(view));
    }
    return {.body = to_text(json::object{{"sessions", std::move(sessions)}})};
}

HttpResponse SessionRoutes::show(const SessionOrder& wanted) const {
    for (const execution::SessionView& view : executor_.list_sessions(wanted.principal)) {
        if (view.session_id == wanted.session_id) {
            return {.body = to_text(outcome::to_json(view))};
        }
    }
    return make_refusal(404, "there is no such session");
}

}  // namespace belljar::api
