#include "api/alert_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <chrono>
#include <ranges>

#include "api/file_answers.h"
#include "api/json_body.h"
#include "api/operation_parts.h"
#include "api/query.h"
#include "api/refusals.h"
#include "base/utc_time.h"
#include "base/utf8.h"

namespace belljar::api {
namespace {

using access::HttpResponse;
using access::Right;

constexpr std::uint64_t kMostAlerts = 500;
constexpr std::int64_t kLongestBlock = 366LL * 24 * 3600;
constexpr std::size_t kLongestReason = 500;
constexpr std::size_t kLongestName = 256;
constexpr std::string_view kNobody = "-";  // stands for the principal without a name

json::object list_of(std::string_view name, std::string_view schema) {
    return object_schema({{name, json::object{{"type", "array"}, {"items", reference(schema)}}}},
                         {json::string(name)});
}

json::object alert_schema() {
    return object_schema(
        {{"id", text_schema()},
         {"time", text_schema()},
         {"rule", text_schema()},
         {"severity", text_schema()},
         {"events", json::object{{"type", "integer"}}},
         {"window_seconds", json::object{{"type", "number"}}},
         {"kind", text_schema()},
         {"name", text_schema()},
         {"text", text_schema()},
         {"details", json::object{{"type", "object"}}},
         {"principal", text_schema()},
         {"address", text_schema()},
         {"execution_id", text_schema()},
         {"conversation_id", text_schema()},
         {"done", json::object{{"type", "array"}, {"items", text_schema()}}}},
        {"id", "time", "rule", "severity", "events", "kind", "name", "text", "details", "done"});
}

json::object rule_json(const alerts::Rule& rule) {
    json::array kinds(rule.kinds.begin(), rule.kinds.end());
    json::array names;
    for (const std::string& name : rule.names) {
        names.emplace_back(make_valid_utf8(name));
    }
    return {{"name", rule.name},
            {"kinds", std::move(kinds)},
            {"names", std::move(names)},
            {"at_least", execution::name_of(rule.at_least)},
            {"count", rule.count},
            {"window_seconds", to_seconds(rule.window)},
            {"per", alerts::name_of(rule.per)},
            {"cool_down_seconds", to_seconds(rule.cool_down)},
            {"severity", execution::name_of(rule.severity)},
            {"kill", alerts::name_of(rule.kill)},
            {"block_seconds", to_seconds(rule.block)},
            {"quarantine", rule.quarantine},
            {"enabled", rule.enabled}};
}

json::object block_json(const alerts::Block& block) {
    return {{"principal", make_valid_utf8(block.principal)},
            {"since", format_utc(block.since)},
            {"until", format_utc(block.until)},
            {"reason", make_valid_utf8(block.reason)}};
}

json::object quarantine_json(const alerts::Quarantine& one) {
    return {{"principal", make_valid_utf8(one.principal)},
            {"conversation_id", make_valid_utf8(one.conversation_id)},
            {"since", format_utc(one.since)},
            {"reason", make_valid_utf8(one.reason)}};
}

json::object with_members(json::object properties, json::array required) {
    json::object schema = object_schema(std::move(properties), std::move(required));
    schema["additionalProperties"] = false;
    return schema;
}

// What an operator wants held, by whom it is and why.
struct Order {
    std::string principal{};
    std::string conversation_id{};
    std::chrono::seconds time{};
    std::string reason{};
};

Result<std::string> read_text(const json::object& body, std::string_view name,
                              std::size_t longest) {
    const json::value* value = body.if_contains(name);
    if (value == nullptr || !value->is_string() || value->get_string().size() > longest) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("\"{}\" must be a text of at most {} bytes", name, longest));
    }
    return std::string(value->get_string());
}

Result<void> check_members(const json::object& body,
                           std::initializer_list<std::string_view> known) {
    for (const auto& [key, value] : body) {
        if (std::ranges::find(known, std::string_view(key)) == known.end()) {
            return fail(
                ErrorCode::InvalidArgument,
                fmt::format("\"{}\" is not known here", std::string_view(key).substr(0, 64)));
        }
    }
    return {};
}

Result<Order> read_order(const json::object& body) {
    Order order;
    BJ_TRY(order.principal, read_text(body, "principal", kLongestName));
    if (body.contains("reason")) {
        BJ_TRY(order.reason, read_text(body, "reason", kLongestReason));
    }
    return order;
}

Result<Order> read_block(std::string_view text) {
    BJ_TRY(const json::object body,
           read_object(text, R"({"principal": "ann", "seconds": 3600, "reason": "..."})"));
    BJ_TRY_VOID(check_members(body, {"principal", "seconds", "reason"}));
    BJ_TRY(Order order, read_order(body));
    const json::value* seconds = body.if_contains("seconds");
    if (seconds == nullptr || !seconds->is_int64() || seconds->get_int64() < 1 ||
        seconds->get_int64() > kLongestBlock) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("\"seconds\" must be a whole number from 1 to {}", kLongestBlock));
    }
    order.time = std::chrono::seconds(seconds->get_int64());
    return order;
}

Result<Order> read_quarantine(std::string_view text) {
    BJ_TRY(const json::object body,
           read_object(text, R"({"principal": "ann", "conversation_id": "notes"})"));
    BJ_TRY_VOID(check_members(body, {"principal", "conversation_id", "reason"}));
    BJ_TRY(Order order, read_order(body));
    BJ_TRY(order.conversation_id, read_text(body, "conversation_id", kLongestName));
    return order;
}

std::string principal_of(const std::string& word) { return word == kNobody ? "" : word; }

execution::WallTime now() { return std::chrono::system_clock::now(); }

}  // namespace

void AlertRoutes::add_to(OperationTable& table) {
    add_alerts(table);
    add_blocks(table);
    add_quarantines(table);
    add_evidence(table);
}

void AlertRoutes::add_alerts(OperationTable& table) {
    table.add_schema("Alert", alert_schema());
    json::object list = list_of("alerts", "Alert");
    json::object& members = list["properties"].as_object();
    members["rules"] = json::object{{"type", "array"}};
    members["webhook"] = json::object{{"type", "object"}};
    table.add_schema("Alerts", std::move(list));
    Operation alerts = operation_of_operators("listAlerts", "GET", "/v1/alerts", "The last alerts");
    alerts.description =
        "Who may operate or read the audit trail sees those of everybody, with the rules in force; "
        "everybody else sees its own. They are also sent at `/mcp/events`.";
    alerts.rights = {};
    alerts.parameters = {
        query_parameter("principal", "Only those about this one."),
        query_parameter("rule", "Only those of this rule."),
        query_parameter("limit", "At most so many.",
                        {{"type", "integer"}, {"minimum", 1}, {"maximum", kMostAlerts}})};
    alerts.answers = {answer_in("Alerts", "The newest first.")};
    alerts.handler = [this](Call call) { return list_alerts(std::move(call)); };
    table.add(std::move(alerts));
}

void AlertRoutes::add_blocks(OperationTable& table) {
    table.add_schema("Block", object_schema({{"principal", text_schema()},
                                             {"since", text_schema()},
                                             {"until", text_schema()},
                                             {"reason", text_schema()}},
                                            {"principal", "since", "until", "reason"}));
    table.add_schema("Blocks", list_of("blocks", "Block"));
    table.add_schema(
        "BlockOrder",
        with_members(
            {{"principal", text_schema()},
             {"seconds",
              json::object{{"type", "integer"}, {"minimum", 1}, {"maximum", kLongestBlock}}},
             {"reason", text_schema()}},
            {"principal", "seconds"}));
    Operation list =
        operation_of_operators("listBlocks", "GET", "/v1/admin/blocks", "Who may run nothing now");
    list.answers = {answer_in("Blocks", "Sorted by name.")};
    list.handler = [this](Call /*call*/) { return list_blocks(); };
    table.add(std::move(list));
    Operation set = operation_of_operators("blockPrincipal", "POST", "/v1/admin/blocks",
                                           "Lets a principal run nothing for a while");
    set.description = "What it runs already goes on. A block outlives a restart.";
    set.bodies = {{.schema = reference("BlockOrder")}};
    set.answers = {answer_in("Blocks", "All that are in force.", 201)};
    set.handler = [this](Call call) { return block(std::move(call)); };
    table.add(std::move(set));
    Operation lift = operation_of_operators("liftBlock", "DELETE", "/v1/admin/blocks/{principal}",
                                            "Lets a principal run again");
    lift.description = "`-` is the principal without a name.";
    lift.answers = {{.status = 204, .description = "It may."}};
    lift.handler = [this](Call call) { return lift_block(std::move(call)); };
    table.add(std::move(lift));
}

void AlertRoutes::add_quarantines(OperationTable& table) {
    table.add_schema("Quarantine",
                     object_schema({{"principal", text_schema()},
                                    {"conversation_id", text_schema()},
                                    {"since", text_schema()},
                                    {"reason", text_schema()}},
                                   {"principal", "conversation_id", "since", "reason"}));
    table.add_schema("Quarantines", list_of("quarantines", "Quarantine"));
    table.add_schema("QuarantineOrder", with_members({{"principal", text_schema()},
                                                      {"conversation_id", text_schema()},
                                                      {"reason", text_schema()}},
                                                     {"principal", "conversation_id"}));
    Operation list = operation_of_operators("listQuarantines", "GET", "/v1/admin/quarantines",
                                            "Conversations that nobody may use");
    list.answers = {answer_in("Quarantines", "Sorted by principal and conversation.")};
    list.handler = [this](Call /*call*/) { return list_quarantines(); };
    table.add(std::move(list));
    Operation set =
        operation_of_operators("quarantineConversation", "POST", "/v1/admin/quarantines",
                               "Lets nobody use a conversation");
    set.description =
        "Its runs and files are refused to its owner, its sessions end, and it is not cleaned up. "
        "Administrators can read what is in it.";
    set.bodies = {{.schema = reference("QuarantineOrder")}};
    set.answers = {answer_in("Quarantines", "All of them.", 201)};
    set.handler = [this](Call call) { return quarantine(std::move(call)); };
    table.add(std::move(set));
    Operation lift = operation_of_operators("liftQuarantine", "DELETE",
                                            "/v1/admin/quarantines/{principal}/{conversation_id}",
                                            "Lets a conversation be used again");
    lift.description = "`-` is the principal without a name.";
    lift.answers = {{.status = 204, .description = "It can be used."}};
    lift.handler = [this](Call call) { return lift_quarantine(std::move(call)); };
    table.add(std::move(lift));
}

void AlertRoutes::add_evidence(OperationTable& table) {
    constexpr std::string_view kPath = "/v1/admin/quarantines/{principal}/{conversation_id}/files";
    table.add_schema("QuarantinedFiles",
                     object_schema({{"files", json::object{{"type", "array"}}}}, {"files"}));
    Operation list = operation_of_operators("listQuarantinedFiles", "GET", kPath,
                                            "Files of a conversation in quarantine");
    list.rights = {Right::Admin};
    list.answers = {answer_in("QuarantinedFiles", "Sorted by path.")};
    list.handler = [this](Call call) { return list_evidence(std::move(call)); };
    table.add(std::move(list));
    Operation get =
        operation_of_operators("getQuarantinedFile", "GET", std::string(kPath) + "/{path...}",
                               "A file of a conversation in quarantine");
    get.rights = {Right::Admin};
    get.answers = {
        {.description = "Its content.", .content = {{.media_type = "application/octet-stream"}}}};
    get.handler = [this](Call call) { return send_evidence(std::move(call)); };
    table.add(std::move(get));
}

Task<HttpResponse> AlertRoutes::list_alerts(Call call) {
    const Result<Query> query = Query::parse(call.request.query, {"principal", "rule", "limit"});
    if (!query) {
        co_return refuse(query.error());
    }
    const Result<std::optional<std::uint64_t>> limit = query->number("limit", {1, kMostAlerts});
    if (!limit) {
        co_return refuse(limit.error());
    }
    const access::Rights& rights = call.request.rights;
    const bool oversees = rights.has(Right::Operate) || rights.has(Right::AuditRead);
    const std::optional<std::string> wanted =
        oversees ? query->text("principal") : std::optional(call.request.principal);
    const std::optional<std::string> rule = query->text("rule");
    json::array found;
    for (const alerts::Alert& alert : sources_.alarm->tower().recent() | std::views::reverse) {
        const bool shown =
            (!wanted || alert.principal == *wanted) && (!rule || alert.rule.name == *rule);
        if (shown && found.size() < limit->value_or(kMostAlerts)) {
            found.push_back(alerts::to_json(alert));
        }
    }
    json::object body{{"alerts", std::move(found)}};
    if (oversees) {
        json::array rules;
        for (const alerts::Rule& one : sources_.alarm->tower().rules()) {
            rules.push_back(rule_json(one));
        }
        body["rules"] = std::move(rules);
        body["webhook"] = sources_.webhook ? sources_.webhook() : json::object{};
    }
    co_return HttpResponse{.body = to_text(body)};
}

Task<HttpResponse> AlertRoutes::list_blocks() {
    json::array blocks;
    for (const alerts::Block& block : sources_.alarm->holds().blocks(now())) {
        blocks.push_back(block_json(block));
    }
    co_return HttpResponse{.body = to_text(json::object{{"blocks", std::move(blocks)}})};
}

Task<HttpResponse> AlertRoutes::block(Call call) {
    if (!is_json(call.request)) {
        co_return refuse_media_type();
    }
    Result<Order> order = read_block(call.request.body);
    if (!order) {
        co_return refuse(order.error());
    }
    sources_.alarm->block(order->principal, order->time, std::move(order->reason),
                          call.request.principal);
    HttpResponse answer = co_await list_blocks();
    answer.status = 201;
    co_return answer;
}

Task<HttpResponse> AlertRoutes::lift_block(Call call) {
    const Result<void> lifted = sources_.alarm->lift_block(
        principal_of(call.path_value("principal")), call.request.principal);
    co_return lifted ? HttpResponse{.status = 204} : refuse(lifted.error());
}

Task<HttpResponse> AlertRoutes::list_quarantines() {
    json::array found;
    for (const alerts::Quarantine& one : sources_.alarm->holds().quarantines()) {
        found.push_back(quarantine_json(one));
    }
    co_return HttpResponse{.body = to_text(json::object{{"quarantines", std::move(found)}})};
}

Task<HttpResponse> AlertRoutes::quarantine(Call call) {
    if (!is_json(call.request)) {
        co_return refuse_media_type();
    }
    Result<Order> order = read_quarantine(call.request.body);
    if (!order) {
        co_return refuse(order.error());
    }
    const Result<void> held = sources_.alarm->quarantine(
        {.principal = order->principal, .conversation_id = order->conversation_id},
        std::move(order->reason), call.request.principal);
    if (!held) {
        co_return refuse(held.error());
    }
    HttpResponse answer = co_await list_quarantines();
    answer.status = 201;
    co_return answer;
}

Task<HttpResponse> AlertRoutes::lift_quarantine(Call call) {
    const Result<void> lifted =
        sources_.alarm->lift_quarantine({.principal = principal_of(call.path_value("principal")),
                                         .conversation_id = call.path_value("conversation_id")},
                                        call.request.principal);
    co_return lifted ? HttpResponse{.status = 204} : refuse(lifted.error());
}

Result<execution::FileName> AlertRoutes::find_quarantined(const Call& call) const {
    execution::FileName name{.principal = principal_of(call.path_value("principal")),
                             .conversation_id = call.path_value("conversation_id")};
    if (sources_.evidence == nullptr ||
        !sources_.alarm->holds().is_quarantined(name.principal, name.conversation_id)) {
        return fail(ErrorCode::NotFound, "this conversation is not quarantined");
    }
    return name;
}

Task<HttpResponse> AlertRoutes::list_evidence(Call call) {
    const Result<execution::FileName> name = find_quarantined(call);
    if (!name) {
        co_return refuse(name.error());
    }
    const Result<std::vector<execution::FileView>> files =
        co_await sources_.evidence->list_files(*name);
    if (!files) {
        co_return refuse(files.error());
    }
    json::array list;
    for (const execution::FileView& file : *files) {
        list.push_back(file_json(file));
    }
    co_return HttpResponse{.body = to_text(json::object{{"files", std::move(list)}})};
}

Task<HttpResponse> AlertRoutes::send_evidence(Call call) {
    Result<execution::FileName> name = find_quarantined(call);
    if (!name) {
        co_return refuse(name.error());
    }
    name->path = call.path_value("path");
    HttpResponse answer =
        co_await send_file(sources_.evidence, std::move(call.request), std::move(*name));
    co_return answer;
}

}  // namespace belljar::api
