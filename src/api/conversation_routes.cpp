#include "api/conversation_routes.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/json_body.h"
#include "api/operation_parts.h"
#include "api/paging.h"
#include "api/query.h"
#include "api/refusals.h"
#include "base/id.h"
#include "base/json.h"
#include "base/json_schema.h"
#include "base/percent.h"
#include "base/utc_time.h"
#include "base/utf8.h"

namespace belljar::api {
namespace {

using access::HttpResponse;
using access::Right;
using execution::ConversationView;
using execution::StorageUsage;

constexpr std::string_view kAll = "/v1/conversations";
constexpr std::string_view kOne = "/v1/conversations/{conversation_id}";

constexpr std::string_view kConversation = R"({
  "type": "object",
  "properties": {
    "conversation_id": {"type": "string"},
    "bytes": {"type": "integer", "minimum": 0},
    "files": {"type": "integer", "minimum": 0},
    "created_at": {"type": "string", "format": "date-time"},
    "modified_at": {"type": "string", "format": "date-time"},
    "last_used_at": {"type": "string", "format": "date-time"}
  },
  "required": ["conversation_id", "bytes", "files", "created_at", "modified_at", "last_used_at"],
  "additionalProperties": false
})";

constexpr std::string_view kCreation = R"({
  "type": "object",
  "properties": {
    "conversation_id": {
      "type": "string",
      "minLength": 1,
      "maxLength": 256,
      "description": "At most 256 bytes without control characters. If left out, one is made up."
    }
  },
  "additionalProperties": false
})";

constexpr std::string_view kStorage = R"({
  "type": "object",
  "properties": {
    "bytes": {"type": "integer", "minimum": 0},
    "entries": {"type": "integer", "minimum": 0, "description": "Files and directories."},
    "most_bytes": {"type": "integer", "minimum": 0},
    "most_entries": {"type": "integer", "minimum": 0}
  },
  "required": ["bytes", "entries", "most_bytes", "most_entries"],
  "additionalProperties": false
})";

constexpr std::string_view kToday = R"({
  "type": "object",
  "properties": {
    "day": {"type": "string", "description": "UTC; empty before the first run of the day."},
    "runs": {"type": "integer", "minimum": 0},
    "cpu_seconds": {"type": "number", "minimum": 0}
  },
  "required": ["day", "runs", "cpu_seconds"],
  "additionalProperties": false
})";

json::object to_json(const ConversationView& view) {
    return {{"conversation_id", make_valid_utf8(view.conversation_id)},
            {"bytes", view.bytes},
            {"files", view.files},
            {"created_at", format_utc(view.created)},
            {"modified_at", format_utc(view.modified)},
            {"last_used_at", format_utc(view.last_used)}};
}

json::object to_json(const StorageUsage& usage) {
    return {{"bytes", usage.bytes},
            {"entries", usage.entries},
            {"most_bytes", usage.most_bytes},
            {"most_entries", usage.most_entries}};
}

// The id that the caller wants, or one of ours.
Result<std::string> read_id(const std::string& body) {
    BJ_TRY(const json::object arguments,
           body.empty() ? json::object{} : read_object(body, R"({"conversation_id": "mine"})"));
    std::string id = make_uuid();
    for (const auto& [name, value] : arguments) {
        if (name != "conversation_id") {
            return fail(ErrorCode::InvalidArgument,
                        fmt::format("unknown argument \"{}\"; allowed is conversation_id",
                                    std::string_view(name).substr(0, 64)));
        }
        if (!value.is_string()) {
            return fail(
                ErrorCode::InvalidArgument,
                fmt::format("\"conversation_id\" must be a string, not {}", describe_kind(value)));
        }
        id = std::string(value.get_string());
    }
    return id;
}

std::string place_of(std::string_view conversation_id) {
    return fmt::format("{}/{}", kAll, percent_encoded(conversation_id));
}

}  // namespace

void ConversationRoutes::add_schemas(OperationTable& table) const {
    json::object detail = schema_from(kConversation);
    detail.at("properties").as_object()["usage"] = reference("StorageUsage");
    detail.at("required").as_array().emplace_back("usage");
    json::object principal = schema_from(kStorage);
    for (const std::string_view name : {"conversations", "most_conversations"}) {
        principal.at("properties").as_object()[name] =
            json::object{{"type", "integer"}, {"minimum", 0}};
        principal.at("required").as_array().emplace_back(name);
    }
    table.add_schema("Conversation", schema_from(kConversation));
    table.add_schema("ConversationDetail", std::move(detail));
    table.add_schema("ConversationCreation", schema_from(kCreation));
    table.add_schema("ConversationPage", page_schema("conversations", "Conversation"));
    table.add_schema("StorageUsage", schema_from(kStorage));
    table.add_schema("CallerUsage", object_schema({{"storage", std::move(principal)},
                                                   {"today", schema_from(kToday)}},
                                                  {"storage", "today"}));
}

void ConversationRoutes::add_to(OperationTable& table) {
    add_schemas(table);
    Answer made = answer_in("Conversation", "A new one.", 201);
    made.headers = {header_parameter("Location", "Where it is.")};
    Answer there = made;
    there.status = 200;
    there.description = "It was there.";
    table.add({.id = "createConversation",
               .method = "POST",
               .path = std::string(kAll),
               .tag = "conversations",
               .summary = "Makes a conversation, if it is not there",
               .description = "A run or a file that names one makes it, too.",
               .rights = {Right::FilesWrite},
               .bodies = {{.schema = reference("ConversationCreation")}},
               .body_optional = true,
               .answers = {std::move(made), std::move(there)},
               .handler = [this](Call call) { return create(std::move(call)); }});
    table.add({.id = "listConversations",
               .method = "GET",
               .path = std::string(kAll),
               .tag = "conversations",
               .summary = "The caller's conversations",
               .rights = {Right::FilesRead},
               .parameters = page_parameters(),
               .answers = {page_answer("ConversationPage", "A page of them, by their ids.")},
               .handler = [this](Call call) { return list(std::move(call)); }});
    table.add({.id = "getConversation",
               .method = "GET",
               .path = std::string(kOne),
               .tag = "conversations",
               .summary = "One conversation, and what it takes",
               .rights = {Right::FilesRead},
               .answers = {answer_in("ConversationDetail", "The conversation.")},
               .handler = [this](Call call) { return show(std::move(call)); }});
    table.add({.id = "deleteConversation",
               .method = "DELETE",
               .path = std::string(kOne),
               .tag = "conversations",
               .summary = "Deletes a conversation with its files",
               .description = "409 while a run has them.",
               .rights = {Right::FilesWrite},
               .answers = {{.status = 204, .description = "It is gone."}},
               .handler = [this](Call call) { return remove(std::move(call)); }});
    add_usage(table);
}

void ConversationRoutes::add_usage(OperationTable& table) {
    table.add({.id = "getUsage",
               .method = "GET",
               .path = "/v1/usage",
               .tag = "conversations",
               .summary = "What the caller has used, and may use",
               .rights = {Right::FilesRead},
               .answers = {answer_in("CallerUsage", "Of files, and of runs today.")},
               .handler = [this](Call call) { return usage(std::move(call)); }});
}

Task<HttpResponse> ConversationRoutes::create(Call call) {
    if (!call.request.body.empty() && !is_json(call.request)) {
        co_return refuse_media_type();
    }
    Result<std::string> id = read_id(call.request.body);
    if (!id) {
        co_return refuse(id.error());
    }
    const Result<engine::MadeConversation> made =
        co_await executor_.conversations().create_conversation(call.request.principal, *id);
    if (!made) {
        co_return refuse(made.error());
    }
    co_return HttpResponse{.status = made->created ? 201U : 200U,
                           .headers = {{"Location", place_of(*id)}},
                           .body = to_text(to_json(made->view))};
}

Task<HttpResponse> ConversationRoutes::list(Call call) {
    const Result<Query> query = Query::parse(call.request.query, {"limit", "cursor"});
    Result<execution::PageQuery> wanted = query ? read_page(*query) : fail(query.error());
    if (!wanted) {
        co_return refuse(wanted.error());
    }
    const Result<execution::ConversationPage> page =
        co_await executor_.conversations().page_conversations(call.request.principal,
                                                              std::move(*wanted));
    if (!page) {
        co_return refuse(page.error());
    }
    json::array conversations;
    for (const ConversationView& view : page->conversations) {
        conversations.push_back(to_json(view));
    }
    co_return make_page(call.request, {{"conversations", std::move(conversations)}}, page->next);
}

Task<HttpResponse> ConversationRoutes::show(Call call) {
    engine::Conversations& conversations = executor_.conversations();
    const std::string& id = call.path_value("conversation_id");
    const Result<ConversationView> view =
        co_await conversations.find_conversation(call.request.principal, id);
    if (!view) {
        co_return refuse(view.error());
    }
    const Result<StorageUsage> used = co_await conversations.usage(call.request.principal, id);
    if (!used) {
        co_return refuse(used.error());
    }
    json::object shown = to_json(*view);
    shown["usage"] = to_json(*used);
    co_return HttpResponse{.body = to_text(shown)};
}

Task<HttpResponse> ConversationRoutes::remove(Call call) {
    const Result<void> removed = co_await executor_.conversations().delete_conversation(
        call.request.principal, call.path_value("conversation_id"));
    co_return removed ? HttpResponse{.status = 204} : refuse(removed.error());
}

Task<HttpResponse> ConversationRoutes::usage(Call call) {
    const Result<StorageUsage> used =
        co_await executor_.conversations().usage(call.request.principal, "");
    if (!used) {
        co_return refuse(used.error());
    }
    const execution::DailyUsage today = executor_.state().used_today(call.request.principal);
    json::object storage = to_json(*used);
    storage["conversations"] = used->conversations;
    storage["most_conversations"] = used->most_conversations;
    co_return HttpResponse{
        .body = to_text(json::object{
            {"storage", std::move(storage)},
            {"today",
             {{"day", today.day}, {"runs", today.runs}, {"cpu_seconds", to_seconds(today.cpu)}}}})};
}

}  // namespace belljar::api
