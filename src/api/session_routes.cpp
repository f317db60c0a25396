#include "api/session_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "access/gate.h"
#include "access/run_origin.h"
#include "api/json_body.h"
#include "api/operation_parts.h"
#include "api/paging.h"
#include "api/query.h"
#include "api/refusals.h"
#include "base/json.h"
#include "engine/run_arguments.h"
#include "engine/run_schema.h"
#include "outcome/result_schema.h"
#include "outcome/session_json.h"

namespace belljar::api {
namespace {

using access::HttpResponse;
using access::make_refusal;
using access::Right;
using execution::SessionAction;
using execution::SessionOrder;
using execution::SessionView;

constexpr std::string_view kAll = "/v1/sessions";
constexpr std::string_view kOne = "/v1/sessions/{session_id}";
constexpr std::uint64_t kMostCells = 1'000'000;

json::object cells_schema() {
    return {{"type", "integer"},
            {"minimum", 1},
            {"maximum", kMostCells},
            {"default", 1},
            {"description", "How many cells back."}};
}

// Nothing but {"cells": n}, or no body at all.
Result<std::uint64_t> read_cells(const std::string& body) {
    if (body.empty()) {
        return std::uint64_t{1};
    }
    BJ_TRY(const json::object arguments, read_object(body, R"({"cells": 1})"));
    std::uint64_t cells = 1;
    for (const auto& [name, value] : arguments) {
        if (name != "cells") {
            return fail(ErrorCode::InvalidArgument,
                        fmt::format("unknown argument \"{}\"; allowed is cells",
                                    std::string_view(name).substr(0, 64)));
        }
        const std::int64_t* number = value.if_int64();
        if (number == nullptr || *number < 1 || static_cast<std::uint64_t>(*number) > kMostCells) {
            return fail(ErrorCode::InvalidArgument,
                        "\"cells\" must be a whole number from 1: how many cells back");
        }
        cells = static_cast<std::uint64_t>(*number);
    }
    return cells;
}

json::object creation_schema() {
    json::object schema = engine::run_arguments_schema();
    schema.erase("required");
    for (const std::string_view name : {"session", "session_id"}) {
        schema.at("properties").as_object().erase(name);
    }
    return schema;
}

Operation operation_of(std::string_view id, std::string_view method, std::string path,
                       std::string_view summary) {
    return {.id = std::string(id),
            .method = std::string(method),
            .path = std::move(path),
            .tag = "sessions",
            .summary = std::string(summary),
            .rights = {Right::Sessions},
            .answers = {answer_in("Session", "The session.")}};
}

}  // namespace

void SessionRoutes::add_to(OperationTable& table) {
    table.add_schema("Session", outcome::session_schema());
    table.add_schema("SessionPage", page_schema("sessions", "Session"));
    table.add_schema("SessionCreation", creation_schema());
    Operation create = operation_of("createSession", "POST", std::string(kAll), "Begins a session");
    create.description = "With a first cell, which does nothing if there is no `code`.";
    create.rights = {Right::RunExec, Right::Sessions};
    create.bodies = {{.schema = reference("SessionCreation")}};
    create.body_optional = true;
    create.answers = {answer_in("Session", "The session.", 201)};
    create.answers.front().headers = {header_parameter("Location", "Where the session is.")};
    create.handler = [this](Call call) { return begin(std::move(call)); };
    table.add(std::move(create));

    Operation all = operation_of("listSessions", "GET", std::string(kAll), "The caller's sessions");
    all.parameters = page_parameters();
    all.answers = {page_answer("SessionPage", "A page of them, by their ids.")};
    all.handler = [this](Call call) { return list(std::move(call)); };
    table.add(std::move(all));

    Operation one = operation_of("getSession", "GET", std::string(kOne), "One session");
    one.handler = [this](Call call) { return show(std::move(call)); };
    table.add(std::move(one));

    Operation remove =
        operation_of("endSession", "DELETE", std::string(kOne), "Ends a session with its state");
    remove.answers = {answer_in("Session", "The session as it was.")};
    remove.handler = [this](Call call) { return end(std::move(call)); };
    table.add(std::move(remove));
    add_actions(table);
}

void SessionRoutes::add_actions(OperationTable& table) {
    struct Action {
        std::string_view id;
        std::string_view path;
        std::string_view summary;
        SessionAction action;
    };
    for (const Action& action :
         {Action{"undoCells", "/undo", "Goes back to the state before the last cells",
                 SessionAction::Undo},
          Action{"forkSession", "/fork", "Makes another session out of the state of this one",
                 SessionAction::Fork},
          Action{"resetSession", "/reset", "Goes back to the state before the first cell",
                 SessionAction::Reset}}) {
        Operation operation =
            operation_of(action.id, "POST", std::string(kOne).append(action.path), action.summary);
        operation.bodies = {{.schema = object_schema({{"cells", cells_schema()}}, {})}};
        operation.body_optional = true;
        operation.handler = [this, what = action.action](Call call) {
            return act(std::move(call), what);
        };
        table.add(std::move(operation));
    }
    Operation compare_operation = operation_of("compareSession", "GET", std::string(kOne) + "/diff",
                                               "What the last cells have changed");
    compare_operation.parameters = {
        query_parameter("cells", "How many cells back.", cells_schema())};
    compare_operation.handler = [this](Call call) { return compare(std::move(call)); };
    table.add(std::move(compare_operation));
}

Task<HttpResponse> SessionRoutes::begin(Call call) {
    const bool given = !call.request.body.empty();
    if (given && !is_json(call.request)) {
        co_return refuse_media_type();
    }
    Result<json::object> arguments =
        given ? read_object(call.request.body, R"({"language": "python"})") : json::object{};
    if (arguments) {
        arguments->emplace("code", "");  // unless there is one
        (*arguments)["session"] = true;
    }
    Result<execution::RunRequest> run =
        arguments ? engine::parse_run_arguments(*arguments) : fail(arguments.error());
    if (!run) {
        co_return refuse(run.error());
    }
    access::set_origin(*run, call.request);
    const Result<execution::RunResult> result =
        co_await executor_.execute(std::move(*run), std::move(call.cancellation));
    if (!result) {
        co_return refuse(result.error());
    }
    const std::string id = result->session_id.value_or("");
    HttpResponse shown = find(call.request.principal, id);
    if (shown.status != 200) {
        co_return make_refusal(409, "the session ended with its first cell");
    }
    shown.status = 201;
    shown.headers.emplace_back("Location", fmt::format("{}/{}", kAll, id));
    co_return shown;
}

Task<HttpResponse> SessionRoutes::list(Call call) {
    const Result<Query> query = Query::parse(call.request.query, {"limit", "cursor"});
    const Result<execution::PageQuery> page = query ? read_page(*query) : fail(query.error());
    if (!page) {
        co_return refuse(page.error());
    }
    std::vector<SessionView> views = executor_.list_sessions(call.request.principal);
    std::ranges::sort(views, {}, &SessionView::session_id);
    json::array sessions;
    std::string next;
    for (auto view = std::ranges::upper_bound(views, page->after, {}, &SessionView::session_id);
         view != views.end(); ++view) {
        if (sessions.size() == page->limit) {
            next = std::prev(view)->session_id;
            break;
        }
        sessions.push_back(outcome::to_json(*view));
    }
    co_return make_page(call.request, {{"sessions", std::move(sessions)}}, next);
}

Task<HttpResponse> SessionRoutes::show(Call call) {
    co_return find(call.request.principal, call.path_value("session_id"));
}

Task<HttpResponse> SessionRoutes::end(Call call) {
    HttpResponse response = co_await obey({.principal = call.request.principal,
                                           .session_id = call.path_value("session_id"),
                                           .action = SessionAction::End});
    co_return response;
}

Task<HttpResponse> SessionRoutes::act(Call call, SessionAction action) {
    if (!call.request.body.empty() && !is_json(call.request)) {
        co_return refuse_media_type();
    }
    const Result<std::uint64_t> cells = read_cells(call.request.body);
    if (!cells) {
        co_return refuse(cells.error());
    }
    HttpResponse response = co_await obey({.principal = call.request.principal,
                                           .session_id = call.path_value("session_id"),
                                           .action = action,
                                           .cells = *cells});
    co_return response;
}

Task<HttpResponse> SessionRoutes::compare(Call call) {
    const Result<Query> query = Query::parse(call.request.query, {"cells"});
    const Result<std::optional<std::uint64_t>> cells =
        query ? query->number("cells", {1, kMostCells}) : fail(query.error());
    if (!cells) {
        co_return refuse(cells.error());
    }
    HttpResponse response = co_await obey({.principal = call.request.principal,
                                           .session_id = call.path_value("session_id"),
                                           .action = SessionAction::Diff,
                                           .cells = cells->value_or(1)});
    co_return response;
}

Task<HttpResponse> SessionRoutes::obey(SessionOrder order) {
    const Result<SessionView> view = co_await executor_.obey(std::move(order));
    co_return view ? HttpResponse{.body = to_text(outcome::to_json(*view))} : refuse(view.error());
}

HttpResponse SessionRoutes::find(const std::string& principal,
                                 const std::string& session_id) const {
    for (const SessionView& view : executor_.list_sessions(principal)) {
        if (view.session_id == session_id) {
            return {.body = to_text(outcome::to_json(view))};
        }
    }
    return make_refusal(404, "there is no such session");
}

}  // namespace belljar::api
