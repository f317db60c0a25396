#include "api/upkeep_routes.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <variant>

#include "api/json_body.h"
#include "api/metrics.h"
#include "api/operation_parts.h"
#include "api/paging.h"
#include "api/query.h"
#include "api/refusals.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "engine/runners_json.h"
#include "outcome/result_json.h"

namespace belljar::api {
namespace {

using access::HttpResponse;
using access::Right;
using execution::CleanupOrder;
using execution::CleanupReport;
using execution::ConversationView;

constexpr std::uint64_t kLongestSeconds = 10ULL * 365 * 24 * 3600;

json::object whole_number(std::string_view description, std::uint64_t most) {
    return {{"type", "integer"}, {"minimum", 0}, {"maximum", most}, {"description", description}};
}

Operation operation(std::string_view id, std::string_view path, std::string_view summary,
                    access::Right right) {
    return {.id = std::string(id),
            .method = "GET",
            .path = std::string(path),
            .tag = "admin",
            .summary = std::string(summary),
            .rights = {right}};
}

std::string show_time(execution::WallTime time) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", std::chrono::floor<std::chrono::seconds>(time));
}

json::object conversation_json(const ConversationView& view) {
    return {{"principal", view.principal},
            {"conversation_id", make_valid_utf8(view.conversation_id)},
            {"bytes", view.bytes},
            {"files", view.files},
            {"created", show_time(view.created)},
            {"modified", show_time(view.modified)},
            {"last_used", show_time(view.last_used)}};
}

json::object conversation_schema() {
    const json::object text{{"type", "string"}};
    const json::object number{{"type", "integer"}, {"minimum", 0}};
    return object_schema({{"principal", text},
                          {"conversation_id", text},
                          {"bytes", number},
                          {"files", number},
                          {"created", text},
                          {"modified", text},
                          {"last_used", text}},
                         {"principal", "conversation_id", "bytes", "files", "last_used"});
}

std::string_view name_of(CleanupReport::Reason reason) {
    switch (reason) {
        case CleanupReport::Reason::Idle:
            return "idle";
        case CleanupReport::Reason::Age:
            return "age";
        case CleanupReport::Reason::Space:
            break;
    }
    return "space";
}

json::object cleanup_schema() {
    json::object schema = object_schema(
        {{"mode", json::object{{"enum", json::array{"dry_run", "remove"}},
                               {"description", "`dry_run`, if it is missing, removes nothing."}}},
         {"idle_seconds", whole_number("Those not used for so long.", kLongestSeconds)},
         {"age_seconds", whole_number("Those made so long ago.", kLongestSeconds)},
         {"total_bytes",
          whole_number("The longest unused, until no more than this is left.", 1ULL << 52U)},
         {"principal", json::object{{"type", "string"}, {"description", "Only this one's."}}}},
        json::array{});
    schema["additionalProperties"] = false;
    return schema;
}

json::object report_schema() {
    const json::object number{{"type", "integer"}, {"minimum", 0}};
    json::object removal = conversation_schema();
    removal["properties"].as_object()["reason"] =
        json::object{{"enum", json::array{"idle", "age", "space"}}};
    return object_schema(
        {{"mode", json::object{{"enum", json::array{"dry_run", "remove"}}}},
         {"removals", json::object{{"type", "array"}, {"items", std::move(removal)}}},
         {"bytes", number},
         {"conversations", number},
         {"in_use", number}},
        {"mode", "removals", "bytes", "conversations", "in_use"});
}

Result<std::optional<std::uint64_t>> read_number(const json::object& body, std::string_view name,
                                                 std::uint64_t most) {
    const json::value* value = body.if_contains(name);
    if (value == nullptr) {
        return std::optional<std::uint64_t>();
    }
    if (!value->is_int64() || value->get_int64() < 0 ||
        static_cast<std::uint64_t>(value->get_int64()) > most) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("\"{}\" must be a whole number from 0 to {}", name, most));
    }
    return std::optional(static_cast<std::uint64_t>(value->get_int64()));
}

Result<std::string> read_text(const json::object& body, std::string_view name,
                              std::string_view otherwise) {
    const json::value* value = body.if_contains(name);
    if (value != nullptr && !value->is_string()) {
        return fail(ErrorCode::InvalidArgument, fmt::format("\"{}\" must be a text", name));
    }
    return std::string(value == nullptr ? otherwise : std::string_view(value->get_string()));
}

Result<CleanupOrder> read_cleanup(const json::object& body) {
    for (const auto& [key, value] : body) {
        constexpr std::array<std::string_view, 5> kKnown{"mode", "idle_seconds", "age_seconds",
                                                         "total_bytes", "principal"};
        if (std::ranges::find(kKnown, std::string_view(key)) == kKnown.end()) {
            return fail(
                ErrorCode::InvalidArgument,
                fmt::format("\"{}\" is not known here", std::string_view(key).substr(0, 64)));
        }
    }
    BJ_TRY(const std::string mode, read_text(body, "mode", "dry_run"));
    if (mode != "dry_run" && mode != "remove") {
        return fail(ErrorCode::InvalidArgument, "\"mode\" is dry_run or remove");
    }
    BJ_TRY(const std::optional<std::uint64_t> idle,
           read_number(body, "idle_seconds", kLongestSeconds));
    BJ_TRY(const std::optional<std::uint64_t> age,
           read_number(body, "age_seconds", kLongestSeconds));
    CleanupOrder order{.mode = mode == "remove" ? CleanupOrder::Mode::Remove
                                                : CleanupOrder::Mode::DryRun};
    BJ_TRY(order.total_bytes, read_number(body, "total_bytes", 1ULL << 52U));
    if (idle) {
        order.idle = std::chrono::seconds(*idle);
    }
    if (age) {
        order.age = std::chrono::seconds(*age);
    }
    if (body.contains("principal")) {
        BJ_TRY(order.principal, read_text(body, "principal", ""));
    }
    return order;
}

}  // namespace

json::array configuration_json(const config::Loaded& loaded) {
    json::array settings;
    for (const config::Entry& entry : loaded.entries) {
        settings.push_back(json::object{{"key", entry.key->name},
                                        {"value", make_valid_utf8(entry.text)},
                                        {"origin", make_valid_utf8(entry.origin.describe())}});
    }
    return settings;
}

std::vector<std::string> secrets_of(const config::Settings& settings) {
    std::vector<std::string> secrets;
    config::Settings all = settings;
    for (const config::Key& key : config::all_keys()) {
        if (key.secrecy != config::Secrecy::Secret) {
            continue;
        }
        const config::Slot slot = key.slot(all);
        if (const auto* const* text = std::get_if<std::string*>(&slot)) {
            secrets.push_back(**text);
        } else if (const auto* const* list = std::get_if<std::vector<std::string>*>(&slot)) {
            for (const std::string& item : **list) {
                secrets.push_back(item.substr(item.find(':') + 1));
            }
        }
    }
    std::erase(secrets, "");
    return secrets;
}

std::string without_secrets(std::string text, const std::vector<std::string>& secrets) {
    constexpr std::string_view kMask = "***";
    for (const std::string& secret : secrets) {
        for (std::size_t at = text.find(secret); at != std::string::npos;
             at = text.find(secret, at + kMask.size())) {
            text.replace(at, secret.size(), kMask);
        }
    }
    return text;
}

void UpkeepRoutes::add_to(OperationTable& table) {
    add_conversations(table);
    table.add_schema("Configuration",
                     object_schema({{"settings", json::object{{"type", "array"}}}}, {"settings"}));
    table.add_schema("Version", object_schema({{"version", json::object{{"type", "string"}}},
                                               {"isolation", json::object{{"type", "object"}}}},
                                              {"version", "isolation"}));
    table.add_schema("Diagnostics", json::object{{"type", "object"}});
    Operation configuration =
        operation("getConfiguration", "/v1/admin/config",
                  "Every setting in force, and where it came from", Right::Admin);
    configuration.description = "Secrets are not shown, only whether they are set.";
    configuration.answers = {answer_in("Configuration", "In the order of the reference.")};
    configuration.handler = [this](Call /*call*/) { return show_configuration(); };
    table.add(std::move(configuration));
    Operation version =
        operation("getVersion", "/v1/admin/version", "What runs here", Right::Operate);
    version.answers = {answer_in("Version", "The version and the isolation of its jars.")};
    version.handler = [this](Call /*call*/) { return show_version(); };
    table.add(std::move(version));
    Operation bundle = operation("getDiagnostics", "/v1/admin/diagnostics",
                                 "What to send along with a report of a fault", Right::Admin);
    bundle.description =
        "Version, isolation, languages, settings without secrets, figures, facts about the "
        "machine and the last lines of the log. No code, no output and no token is in it.";
    bundle.answers = {answer_in("Diagnostics", "One JSON document.")};
    bundle.handler = [this](Call /*call*/) { return diagnose(); };
    table.add(std::move(bundle));
}

void UpkeepRoutes::add_conversations(OperationTable& table) {
    table.add_schema("AdminConversation", conversation_schema());
    table.add_schema("AdminConversations", page_schema("conversations", "AdminConversation"));
    table.add_schema("RetentionOrder", cleanup_schema());
    table.add_schema("RetentionReport", report_schema());
    Operation list = operation("listAllConversations", "/v1/admin/conversations",
                               "Conversations of everybody", Right::Operate);
    list.parameters = page_parameters();
    list.parameters.push_back(query_parameter("principal", "Only those of this one."));
    list.answers = {page_answer("AdminConversations", "Sorted by principal and id.")};
    list.handler = [this](Call call) { return list_conversations(std::move(call)); };
    table.add(std::move(list));
    Operation clean =
        operation("applyRetention", "/v1/admin/retention",
                  "Removes conversations that are old, unused or too many", Right::Admin);
    clean.method = "POST";
    clean.description = "One that is in use stays. Without a reason nothing is removed.";
    clean.bodies = {{.schema = reference("RetentionOrder")}};
    clean.answers = {answer_in("RetentionReport", "What was removed, or would be.")};
    clean.handler = [this](Call call) { return clean_up(std::move(call)); };
    table.add(std::move(clean));
}

Task<HttpResponse> UpkeepRoutes::list_conversations(Call call) {
    const Result<Query> query = Query::parse(call.request.query, {"principal", "limit", "cursor"});
    if (!query) {
        co_return refuse(query.error());
    }
    const Result<execution::PageQuery> wanted = read_page(*query);
    if (!wanted) {
        co_return refuse(wanted.error());
    }
    const Result<execution::ConversationPage> page =
        co_await sources_.executor->conversations().page_conversations(query->text("principal"),
                                                                       *wanted);
    if (!page) {
        co_return refuse(page.error());
    }
    json::array conversations;
    for (const ConversationView& view : page->conversations) {
        conversations.push_back(conversation_json(view));
    }
    co_return make_page(call.request, {{"conversations", std::move(conversations)}}, page->next);
}

Task<HttpResponse> UpkeepRoutes::clean_up(Call call) {
    if (!is_json(call.request)) {
        co_return refuse_media_type();
    }
    const Result<json::object> body =
        read_object(call.request.body, R"({"mode": "dry_run", "idle_seconds": 86400})");
    if (!body) {
        co_return refuse(body.error());
    }
    const Result<CleanupOrder> order = read_cleanup(*body);
    if (!order) {
        co_return refuse(order.error());
    }
    const Result<CleanupReport> report =
        co_await sources_.executor->conversations().cleanup(*order);
    if (!report) {
        co_return refuse(report.error());
    }
    json::array removals;
    for (const CleanupReport::Removal& removal : report->removals) {
        json::object shown = conversation_json(removal.conversation);
        shown["reason"] = name_of(removal.reason);
        removals.push_back(std::move(shown));
    }
    const bool removed = order->mode == CleanupOrder::Mode::Remove;
    co_return HttpResponse{.body = to_text(json::object{{"mode", removed ? "remove" : "dry_run"},
                                                        {"removals", std::move(removals)},
                                                        {"bytes", report->bytes},
                                                        {"conversations", report->conversations},
                                                        {"in_use", report->in_use}})};
}

Task<HttpResponse> UpkeepRoutes::show_configuration() {
    co_return HttpResponse{
        .body = to_text(json::object{{"settings", configuration_json(sources_.configuration())}})};
}

Task<HttpResponse> UpkeepRoutes::show_version() {
    const engine::SandboxInfo info = sources_.executor->info();
    co_return HttpResponse{
        .body = to_text(json::object{{"version", info.version},
                                     {"isolation", outcome::to_json(info.isolation)}})};
}

Task<HttpResponse> UpkeepRoutes::diagnose() {
    const engine::SandboxInfo info = sources_.executor->info();
    json::array lines;
    if (sources_.log != nullptr && sources_.log->tail() != nullptr) {
        for (const std::string& line : sources_.log->tail()->lines()) {
            lines.emplace_back(line);
        }
    }
    std::vector<std::string> secrets = secrets_of(sources_.configuration().settings);
    secrets.insert(secrets.end(), sources_.secrets.begin(), sources_.secrets.end());
    const access::RequestFigures requests =
        sources_.requests != nullptr ? sources_.requests->figures() : access::RequestFigures{};
    const json::object bundle{
        {"time", utc_timestamp()},
        {"version", info.version},
        {"isolation", outcome::to_json(info.isolation)},
        {"draining", sources_.executor->intake() == engine::Intake::Drained},
        {"runners", engine::runners_json(info)},
        {"host", sources_.host ? sources_.host() : json::object{}},
        {"settings", configuration_json(sources_.configuration())},
        {"metrics", render_metrics(info, sources_.executor->figures(), requests)},
        {"log", std::move(lines)}};
    co_return HttpResponse{
        .headers = {{"Content-Disposition", "attachment; filename=\"belljar-diagnostics.json\""},
                    {"Cache-Control", "no-store"}},
        .body = without_secrets(to_text(bundle), secrets)};
}

}  // namespace belljar::api
