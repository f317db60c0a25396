#include "api/record_routes.h"

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/operation_parts.h"
#include "api/paging.h"
#include "api/query.h"
#include "api/refusals.h"
#include "api/run_json.h"
#include "base/json.h"

namespace belljar::api {
namespace {

using access::HttpResponse;
using access::Right;
using execution::RunQuery;
using execution::RunState;
using execution::Status;

constexpr std::array<Status, 10> kStatuses{
    Status::Ok,   Status::Error,  Status::Timeout, Status::Memory, Status::Processes,
    Status::Disk, Status::Output, Status::Killed,  Status::Denied, Status::Cancelled};
constexpr std::array<RunState, 3> kStates{RunState::Queued, RunState::Running, RunState::Ended};

template <typename Names>
json::object names_of(const Names& values) {
    json::array names;
    for (const auto& value : values) {
        names.emplace_back(execution::name_of(value));
    }
    return {{"type", "string"}, {"enum", std::move(names)}};
}

// One of the values by its name; nothing if the parameter is not given.
template <typename Values>
auto choose(const Query& query, std::string_view name, const Values& values)
    -> Result<std::optional<typename Values::value_type>> {
    const std::optional<std::string> given = query.text(name);
    if (!given) {
        return std::optional<typename Values::value_type>();
    }
    for (const auto& value : values) {
        if (execution::name_of(value) == *given) {
            return std::optional(value);
        }
    }
    return fail(ErrorCode::InvalidArgument,
                "\"" + std::string(name) + "\" must be one of those in the description");
}

Result<RunQuery> read_filters(const Query& query) {
    RunQuery wanted;
    BJ_TRY(const execution::PageQuery page, read_page(query));
    wanted.after = page.after;
    wanted.limit = page.limit;
    BJ_TRY(wanted.state, choose(query, "state", kStates));
    BJ_TRY(wanted.status, choose(query, "status", kStatuses));
    wanted.language = query.text("language");
    wanted.conversation_id = query.text("conversation_id");
    wanted.session_id = query.text("session_id");
    BJ_TRY(wanted.since, query.time("since"));
    BJ_TRY(wanted.until, query.time("until"));
    return wanted;
}

std::vector<Parameter> filters() {
    std::vector<Parameter> parameters = page_parameters();
    parameters.push_back(query_parameter("state", "Only runs in this state.", names_of(kStates)));
    parameters.push_back(
        query_parameter("status", "Only runs that ended so.", names_of(kStatuses)));
    for (const std::string_view name : {"language", "conversation_id", "session_id"}) {
        parameters.push_back(query_parameter(name, "Only runs with this one."));
    }
    const json::object time{{"type", "string"},
                            {"anyOf", json::array{json::object{{"format", "date-time"}},
                                                  json::object{{"format", "date"}}}}};
    parameters.push_back(query_parameter("since", "Only runs created then or later.", time));
    parameters.push_back(query_parameter("until", "Only runs created before.", time));
    return parameters;
}

json::object detail_schema() {
    json::object schema = run_schema();
    schema.at("properties").as_object()["result"] = json::object{
        {"description", "The record of a run that ended and has one."},
        {"anyOf", json::array{reference("RunResult"), json::object{{"type", "null"}}}}};
    schema.at("required").as_array().emplace_back("result");
    return schema;
}

}  // namespace

void RecordRoutes::add_to(OperationTable& table) {
    table.add_schema("Run", run_schema());
    table.add_schema("RunDetail", detail_schema());
    table.add_schema("RunPage", page_schema("runs", "Run"));
    table.add({.id = "listRuns",
               .method = "GET",
               .path = "/v1/runs",
               .tag = "runs",
               .summary = "The caller's runs, latest first",
               .rights = {Right::RunExec},
               .parameters = filters(),
               .answers = {page_answer("RunPage", "A page of them.")},
               .handler = [this](Call call) { return list(std::move(call)); }});
    table.add({.id = "getRun",
               .method = "GET",
               .path = "/v1/runs/{run_id}",
               .tag = "runs",
               .summary = "One run, with its result if it has ended",
               .rights = {Right::RunExec},
               .answers = {answer_in("RunDetail", "The run.")},
               .handler = [this](Call call) { return show(std::move(call)); }});
    table.add({.id = "cancelRun",
               .method = "POST",
               .path = "/v1/runs/{run_id}/cancel",
               .tag = "runs",
               .summary = "Asks a run to end",
               .description = "Does not wait for its end. 409 if it has ended.",
               .rights = {Right::RunExec},
               .answers = {answer_in("Run", "It will end.", 202)},
               .handler = [this](Call call) { return cancel(std::move(call)); }});
    table.add({.id = "followRun",
               .method = "GET",
               .path = "/v1/runs/{run_id}/events",
               .tag = "runs",
               .summary = "A run that is under way, as server-sent events",
               .description = "`started`, then `stdout` and `stderr` with what the program writes "
                              "from now on, `dropped` if the caller reads too slowly, and last "
                              "`result` or `error`.",
               .rights = {Right::RunExec},
               .answers = {{.description = "Events until the run ends.",
                            .content = {{.media_type = "text/event-stream",
                                         .schema = {{"type", "string"}}}}}},
               .handler = [this](Call call) { return follower_.follow(std::move(call)); }});
    add_audit(table);
}

void RecordRoutes::add_audit(OperationTable& table) {
    table.add_schema("AuditRecord", audit_schema());
    table.add_schema("AuditPage", page_schema("records", "AuditRecord"));
    std::vector<Parameter> parameters = filters();
    parameters.push_back(query_parameter("principal", "Only runs of this one."));
    table.add({.id = "queryAudit",
               .method = "GET",
               .path = "/v1/audit",
               .tag = "audit",
               .summary = "What everybody ran, latest first",
               .description = "Out of the state that the server keeps, for as long as it keeps it. "
                              "Nothing proves that a record was not changed by somebody who can "
                              "write to the server's disk: `/v1/audit/records` does.",
               .rights = {Right::AuditRead},
               .parameters = std::move(parameters),
               .answers = {page_answer("AuditPage", "A page of records.")},
               .handler = [this](Call call) { return audit(std::move(call)); }});
}

Task<HttpResponse> RecordRoutes::list(Call call) {
    const Result<Query> query =
        Query::parse(call.request.query, {"limit", "cursor", "state", "status", "language",
                                          "conversation_id", "session_id", "since", "until"});
    Result<RunQuery> wanted = query ? read_filters(*query) : fail(query.error());
    if (!wanted) {
        co_return refuse(wanted.error());
    }
    wanted->principal = call.request.principal;
    const Result<execution::RunPage> page = co_await executor_.runs().list(std::move(*wanted));
    if (!page) {
        co_return refuse(page.error());
    }
    json::array runs;
    for (const execution::RunView& view : page->runs) {
        runs.push_back(run_json(view));
    }
    co_return make_page(call.request, {{"runs", std::move(runs)}}, page->next);
}

Task<HttpResponse> RecordRoutes::audit(Call call) {
    const Result<Query> query = Query::parse(
        call.request.query, {"limit", "cursor", "principal", "state", "status", "language",
                             "conversation_id", "session_id", "since", "until"});
    Result<RunQuery> wanted = query ? read_filters(*query) : fail(query.error());
    if (!wanted) {
        co_return refuse(wanted.error());
    }
    wanted->principal = query->text("principal");
    const Result<execution::RunPage> page = co_await executor_.runs().list(std::move(*wanted));
    if (!page) {
        co_return refuse(page.error());
    }
    json::array records;
    for (const execution::RunView& view : page->runs) {
        records.push_back(audit_json(view));
    }
    co_return make_page(call.request, {{"records", std::move(records)}}, page->next);
}

Task<HttpResponse> RecordRoutes::show(Call call) {
    const Result<execution::RunRecord> record =
        co_await executor_.runs().find(call.request.principal, call.path_value("run_id"));
    co_return record ? HttpResponse{.body = record_text(*record)} : refuse(record.error());
}

Task<HttpResponse> RecordRoutes::cancel(Call call) {
    const Result<execution::RunView> view =
        co_await executor_.runs().cancel(call.request.principal, call.path_value("run_id"));
    if (!view) {
        co_return refuse(view.error());
    }
    co_return HttpResponse{.status = 202, .body = to_text(run_json(*view))};
}

}  // namespace belljar::api
