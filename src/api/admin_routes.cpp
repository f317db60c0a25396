#include "api/admin_routes.h"

#include <algorithm>
#include <boost/json/array.hpp>

#include "access/token_json.h"
#include "api/json_body.h"
#include "api/operation_parts.h"
#include "api/paging.h"
#include "api/query.h"
#include "api/refusals.h"
#include "api/run_json.h"
#include "outcome/session_json.h"

namespace belljar::api {
namespace {

using access::HttpResponse;
using access::Right;

constexpr std::size_t kMostDays = 1000;

json::object list_schema(std::string_view name, json::object item) {
    return object_schema({{name, json::object{{"type", "array"}, {"items", std::move(item)}}}},
                         {json::string(name)});
}

json::object usage_json(const execution::DailyUsage& usage) {
    return {{"principal", usage.principal},
            {"day", usage.day},
            {"runs", usage.runs},
            {"cpu_seconds", to_seconds(usage.cpu)}};
}

bool is_day(const std::string& text) {
    return text.size() == 10 && text[4] == '-' && text[7] == '-' &&
           text.find_first_not_of("0123456789-") == std::string::npos;
}

Result<execution::UsageQuery> read_usage_query(const std::string& text) {
    BJ_TRY(const Query query, Query::parse(text, {"principal", "from", "to", "limit"}));
    execution::UsageQuery wanted{.principal = query.text("principal"),
                                 .from = query.text("from").value_or(""),
                                 .to = query.text("to").value_or("")};
    for (const std::string& day : {wanted.from, wanted.to}) {
        if (!day.empty() && !is_day(day)) {
            return fail(ErrorCode::InvalidArgument,
                        "\"from\" and \"to\" are days such as 2026-01-31");
        }
    }
    BJ_TRY(const std::optional<std::uint64_t> limit, query.number("limit", {1, kMostDays}));
    wanted.limit = limit.value_or(kMostDays);
    return wanted;
}

Result<execution::RunQuery> read_run_query(const std::string& text) {
    BJ_TRY(const Query query, Query::parse(text, {"principal", "state", "limit", "cursor"}));
    BJ_TRY(execution::PageQuery page, read_page(query));
    const std::string name = query.text("state").value_or("running");
    const std::optional<execution::RunState> state = execution::parse_run_state(name);
    if (!state) {
        return fail(ErrorCode::InvalidArgument, "\"state\" is queued, running or ended");
    }
    return execution::RunQuery{.principal = query.text("principal"),
                               .state = state,
                               .after = std::move(page.after),
                               .limit = page.limit};
}

}  // namespace

void AdminRoutes::add_to(OperationTable& table) {
    add_schemas(table);
    add_runs(table);
    add_sessions(table);
    add_drain(table);
    add_quotas(table);
}

void AdminRoutes::add_schemas(OperationTable& table) {
    table.add_schema("AdminRun", audit_schema());
    table.add_schema("AdminRuns", page_schema("runs", "AdminRun"));
    table.add_schema("AdminSessions", list_schema("sessions", {{"type", "object"}}));
    table.add_schema("Drain", object_schema({{"draining", json::object{{"type", "boolean"}}},
                                             {"running", count_schema()},
                                             {"waiting", count_schema()}},
                                            {"draining", "running", "waiting"}));
    json::object order =
        object_schema({{"draining", json::object{{"type", "boolean"}}}}, {"draining"});
    order["additionalProperties"] = false;
    table.add_schema("DrainOrder", std::move(order));
    table.add_schema("DailyUsage",
                     object_schema({{"principal", text_schema()},
                                    {"day", text_schema()},
                                    {"runs", count_schema()},
                                    {"cpu_seconds", json::object{{"type", "number"}}}},
                                   {"principal", "day", "runs", "cpu_seconds"}));
    table.add_schema("Usage", list_schema("usage", reference("DailyUsage")));
    table.add_schema("Quota", object_schema({{"principal", text_schema()},
                                             {"limits", json::object{{"type", "object"}}},
                                             {"today", reference("DailyUsage")}},
                                            {"principal", "limits", "today"}));
}

void AdminRoutes::add_runs(OperationTable& table) {
    Operation list =
        operation_of_operators("listAllRuns", "GET", "/v1/admin/runs", "Runs of everybody");
    list.parameters = page_parameters();
    list.parameters.push_back(query_parameter("principal", "Only those of this one."));
    list.parameters.push_back(
        query_parameter("state", "Those that run, if it is missing.",
                        {{"enum", json::array{"queued", "running", "ended"}}}));
    list.answers = {page_answer("AdminRuns", "The newest first.")};
    list.handler = [this](Call call) { return list_runs(std::move(call)); };
    table.add(std::move(list));
    Operation kill = operation_of_operators("killRun", "DELETE", "/v1/admin/runs/{run_id}",
                                            "Ends a run of anybody");
    kill.description = "Its owner gets the result with the status `cancelled`.";
    kill.answers = {answer_in("AdminRun", "It is being ended.", 202)};
    kill.handler = [this](Call call) { return kill_run(std::move(call)); };
    table.add(std::move(kill));
}

void AdminRoutes::add_sessions(OperationTable& table) {
    Operation list = operation_of_operators("listAllSessions", "GET", "/v1/admin/sessions",
                                            "Sessions of everybody");
    list.parameters = {query_parameter("principal", "Only those of this one.")};
    list.answers = {answer_in("AdminSessions", "All that live.")};
    list.handler = [this](Call call) { return list_sessions(std::move(call)); };
    table.add(std::move(list));
    Operation end = operation_of_operators(
        "killSession", "DELETE", "/v1/admin/sessions/{session_id}", "Ends a session of anybody");
    end.answers = {{.status = 204, .description = "It has ended, with a cell that was running."}};
    end.handler = [this](Call call) { return end_session(std::move(call)); };
    table.add(std::move(end));
}

void AdminRoutes::add_drain(OperationTable& table) {
    Operation show =
        operation_of_operators("getDrain", "GET", "/v1/admin/drain", "Whether runs are taken");
    show.answers = {answer_in("Drain", "With what is under way.")};
    show.handler = [this](Call /*call*/) { return show_drain(); };
    table.add(std::move(show));
    Operation set = operation_of_operators("setDrain", "PUT", "/v1/admin/drain",
                                           "Takes no more runs, or again");
    set.description =
        "While it drains, runs are refused with 503 and `/ready` answers 503; what has begun goes "
        "on. A restart takes runs again.";
    set.bodies = {{.schema = reference("DrainOrder")}};
    set.answers = {answer_in("Drain", "As it is now.")};
    set.handler = [this](Call call) { return set_drain(std::move(call)); };
    table.add(std::move(set));
}

void AdminRoutes::add_quotas(OperationTable& table) {
    Operation quota =
        operation_of_operators("getQuota", "GET", "/v1/admin/quota",
                               "What a principal may use, and what it has used today");
    quota.parameters = {query_parameter("principal", "The one without a name if missing.")};
    quota.answers = {answer_in("Quota", "Limits of 0 do not limit.")};
    quota.handler = [this](Call call) { return show_quota(std::move(call)); };
    table.add(std::move(quota));
    Operation usage = operation_of_operators("listUsage", "GET", "/v1/admin/usage",
                                             "What principals have used, by day (UTC)");
    const json::object day{{"type", "string"}, {"pattern", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}};
    usage.parameters = {
        query_parameter("principal", "Only this one."),
        query_parameter("from", "First day, such as 2026-01-31.", day),
        query_parameter("to", "Last day.", day),
        query_parameter("limit", "Days at most.",
                        {{"type", "integer"}, {"minimum", 1}, {"maximum", kMostDays}})};
    usage.answers = {answer_in("Usage", "One entry for each principal and day.")};
    usage.handler = [this](Call call) { return show_usage(std::move(call)); };
    table.add(std::move(usage));
}

Task<HttpResponse> AdminRoutes::list_runs(Call call) {
    const Result<execution::RunQuery> query = read_run_query(call.request.query);
    if (!query) {
        co_return refuse(query.error());
    }
    const Result<execution::RunPage> page = co_await executor_.runs().list(*query);
    if (!page) {
        co_return refuse(page.error());
    }
    json::array runs;
    for (const execution::RunView& view : page->runs) {
        runs.push_back(audit_json(view));
    }
    co_return make_page(call.request, {{"runs", std::move(runs)}}, page->next);
}

Task<HttpResponse> AdminRoutes::kill_run(Call call) {
    const Result<execution::RunView> view =
        co_await executor_.runs().cancel(std::nullopt, call.path_value("run_id"));
    if (!view) {
        co_return refuse(view.error());
    }
    co_return HttpResponse{.status = 202, .body = to_text(audit_json(*view))};
}

Task<HttpResponse> AdminRoutes::list_sessions(Call call) {
    const Result<Query> query = Query::parse(call.request.query, {"principal"});
    if (!query) {
        co_return refuse(query.error());
    }
    const std::optional<std::string> principal = query->text("principal");
    json::array sessions;
    for (const execution::SessionView& view : executor_.list_all_sessions()) {
        if (!principal || view.principal == *principal) {
            json::object session = outcome::to_json(view);
            session["principal"] = view.principal;
            sessions.push_back(std::move(session));
        }
    }
    co_return HttpResponse{.body = to_text(json::object{{"sessions", std::move(sessions)}})};
}

Task<HttpResponse> AdminRoutes::end_session(Call call) {
    const std::vector<execution::SessionView> sessions = executor_.list_all_sessions();
    const auto found = std::ranges::find(sessions, call.path_value("session_id"),
                                         &execution::SessionView::session_id);
    if (found == sessions.end()) {
        co_return refuse({.code = ErrorCode::NotFound, .message = "there is no such session"});
    }
    const Result<execution::SessionView> ended =
        co_await executor_.obey({.principal = found->principal,
                                 .session_id = found->session_id,
                                 .action = execution::SessionAction::End});
    co_return ended ? HttpResponse{.status = 204} : refuse(ended.error());
}

HttpResponse AdminRoutes::drain_answer() const {
    const engine::Admission::Figures figures = executor_.figures().admission;
    return {.body =
                to_text(json::object{{"draining", executor_.intake() == engine::Intake::Drained},
                                     {"running", figures.running},
                                     {"waiting", figures.waiting}})};
}

Task<HttpResponse> AdminRoutes::show_drain() { co_return drain_answer(); }

Task<HttpResponse> AdminRoutes::set_drain(Call call) {
    if (!is_json(call.request)) {
        co_return refuse_media_type();
    }
    const Result<json::object> body = read_object(call.request.body, R"({"draining": true})");
    if (!body) {
        co_return refuse(body.error());
    }
    const json::value* draining = body->if_contains("draining");
    if (draining == nullptr || !draining->is_bool() || body->size() != 1) {
        co_return refuse({.code = ErrorCode::InvalidArgument,
                          .message = "the body must be {\"draining\": true} or false"});
    }
    executor_.set_intake(draining->get_bool() ? engine::Intake::Drained : engine::Intake::Open);
    co_return drain_answer();
}

Task<HttpResponse> AdminRoutes::show_quota(Call call) {
    const Result<Query> query = Query::parse(call.request.query, {"principal"});
    if (!query) {
        co_return refuse(query.error());
    }
    const std::string principal = query->text("principal").value_or("");
    co_return HttpResponse{
        .body = to_text(
            json::object{{"principal", principal},
                         {"limits", access::limits_to_json(executor_.limits_in_force(principal))},
                         {"today", usage_json(executor_.state().used_today(principal))}})};
}

Task<HttpResponse> AdminRoutes::show_usage(Call call) {
    const Result<execution::UsageQuery> query = read_usage_query(call.request.query);
    if (!query) {
        co_return refuse(query.error());
    }
    const Result<std::vector<execution::DailyUsage>> days =
        co_await executor_.state().usage(*query);
    if (!days) {
        co_return refuse(days.error());
    }
    json::array usage;
    for (const execution::DailyUsage& day : *days) {
        usage.push_back(usage_json(day));
    }
    co_return HttpResponse{.body = to_text(json::object{{"usage", std::move(usage)}})};
}

}  // namespace belljar::api
