#include "api/token_body.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <initializer_list>

#include "access/token_json.h"
#include "api/operation_parts.h"

namespace belljar::api {
namespace {

constexpr std::string_view kNamePattern = "^[A-Za-z0-9._-]{1,64}$";
constexpr std::int64_t kLargestLimit = 1'000'000'000'000'000;
constexpr std::int64_t kLargestSmallLimit = 1'000'000'000;  // of those that are counted in 32 bits

std::unexpected<Error> wrong(std::string message) {
    return fail(ErrorCode::InvalidArgument, std::move(message));
}

std::string show_time(access::WallTime time) { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", time); }

Result<void> check_members(const json::object& object,
                           std::initializer_list<std::string_view> known) {
    for (const auto& [key, value] : object) {
        if (std::ranges::find(known, std::string_view(key)) == known.end()) {
            return wrong(
                fmt::format("\"{}\" is not known here", std::string_view(key).substr(0, 64)));
        }
    }
    return {};
}

Result<std::vector<std::string>> read_roles(const json::value& value) {
    if (!value.is_array() || value.get_array().empty()) {
        return wrong("\"roles\" must be a list with at least one name");
    }
    std::vector<std::string> roles;
    for (const json::value& role : value.get_array()) {
        if (!role.is_string()) {
            return wrong("\"roles\" must be a list of names");
        }
        roles.emplace_back(role.get_string());
    }
    return roles;
}

Result<std::optional<access::WallTime>> read_expiry(const json::value& value,
                                                    access::WallTime now) {
    if (!value.is_string()) {
        return wrong("\"expires\" must be a time from now such as \"30d\", or \"never\"");
    }
    return access::parse_expiry(value.get_string(), now);
}

Result<execution::PrincipalLimits> read_limits(const json::value& value,
                                               const execution::PrincipalLimits& before) {
    if (!value.is_object()) {
        return wrong("\"limits\" must be an object");
    }
    BJ_TRY_VOID(
        check_members(value.get_object(), {"requests_per_minute", "concurrent_runs", "runs_per_day",
                                           "cpu_seconds_per_day", "storage_bytes", "profile"}));
    json::object merged = access::limits_to_json(before);
    for (const auto& [key, limit] : value.get_object()) {
        const bool small = key == "requests_per_minute" || key == "concurrent_runs";
        if (limit.is_null()) {
            merged.erase(key);
        } else if (key == "profile") {
            if (!limit.is_string() || limit.get_string().empty() ||
                limit.get_string().size() > 128) {
                return wrong("\"limits.profile\" must be the name of a profile");
            }
            merged[key] = limit;
        } else if (limit.is_int64() && limit.get_int64() >= 0 &&
                   limit.get_int64() <= (small ? kLargestSmallLimit : kLargestLimit)) {
            merged[key] = limit;
        } else {
            return wrong(fmt::format("\"limits.{}\" must be a whole number from 0 (no limit) on",
                                     std::string_view(key)));
        }
    }
    // Once more through text, in which numbers have no sign of their own.
    BJ_TRY(const json::value settled, parse_json(to_text(merged)));
    const auto limits = access::limits_from_json(settled.get_object());
    return limits ? Result<execution::PrincipalLimits>(*limits)
                  : wrong("\"limits\" has a number that is too large");
}

json::object roles_schema() {
    return {{"type", "array"},
            {"minItems", 1},
            {"maxItems", 64},
            {"items", json::object{{"type", "string"}, {"pattern", kNamePattern}}},
            {"description", "admin, operator, user, auditor, or names of tool sets."}};
}

json::object expiry_schema() {
    return {{"type", "string"},
            {"pattern", "^(never|[1-9][0-9]{0,3}d|[1-9][0-9]{0,3}[hm])$"},
            {"description", "A time from now such as `30d`, `12h` or `90m`, or `never`."}};
}

// null: as all others.
json::object limit_schema(std::string_view description, std::int64_t most) {
    return {{"type", json::array{"integer", "null"}},
            {"minimum", 0},
            {"maximum", most},
            {"description", description}};
}

}  // namespace

json::object limits_schema() {
    json::object schema = object_schema(
        {{"requests_per_minute", limit_schema("Requests in a minute.", kLargestSmallLimit)},
         {"concurrent_runs", limit_schema("Runs at the same time.", kLargestSmallLimit)},
         {"runs_per_day", limit_schema("Runs on a day (UTC).", kLargestLimit)},
         {"cpu_seconds_per_day", limit_schema("CPU seconds on a day (UTC).", kLargestLimit)},
         {"storage_bytes", limit_schema("Files of all conversations.", kLargestLimit)},
         {"profile", json::object{{"type", json::array{"string", "null"}},
                                  {"maxLength", 128},
                                  {"description", "Of policy, under which its programs run."}}}},
        json::array{});
    schema["additionalProperties"] = false;
    schema["description"] = "Where they differ from those of everybody; 0 is no limit.";
    return schema;
}

json::object token_json(const access::TokenRecord& record, access::WallTime now) {
    return {{"name", record.name},
            {"roles", json::array(record.roles.begin(), record.roles.end())},
            {"created", show_time(record.created)},
            {"expires", record.expires ? json::value(show_time(*record.expires)) : json::value()},
            {"expired", record.expires && *record.expires <= now},
            {"limits", access::limits_to_json(record.limits)}};
}

json::object token_schema() {
    return object_schema(
        {{"name", json::object{{"type", "string"}}},
         {"roles", roles_schema()},
         {"created", json::object{{"type", "string"}, {"format", "date-time"}}},
         {"expires", json::object{{"type", json::array{"string", "null"}}}},
         {"expired", json::object{{"type", "boolean"}}},
         {"limits", reference("TokenLimits")},
         {"token", json::object{{"type", "string"},
                                {"description", "Only in the answer to its creation."}}}},
        {"name", "roles", "created", "expires", "expired", "limits"});
}

Result<access::NewToken> read_new_token(const json::object& body, access::WallTime now) {
    BJ_TRY_VOID(check_members(body, {"name", "roles", "expires", "limits"}));
    access::NewToken token{.roles = {"user"}};
    const json::value* name = body.if_contains("name");
    if (name == nullptr || !name->is_string()) {
        return wrong("\"name\" must be a text: whom the token stands for");
    }
    token.name = name->get_string();
    if (const json::value* roles = body.if_contains("roles")) {
        BJ_TRY(token.roles, read_roles(*roles));
    }
    if (const json::value* expires = body.if_contains("expires")) {
        BJ_TRY(token.expires, read_expiry(*expires, now));
    }
    if (const json::value* limits = body.if_contains("limits")) {
        BJ_TRY(token.limits, read_limits(*limits, {}));
    }
    return token;
}

json::object new_token_schema() {
    json::object schema =
        object_schema({{"name", json::object{{"type", "string"}, {"pattern", kNamePattern}}},
                       {"roles", roles_schema()},
                       {"expires", expiry_schema()},
                       {"limits", reference("TokenLimits")}},
                      {"name"});
    schema["additionalProperties"] = false;
    return schema;
}

Result<access::TokenChange> read_token_change(const json::object& body,
                                              const execution::PrincipalLimits& limits_now,
                                              access::WallTime now) {
    BJ_TRY_VOID(check_members(body, {"roles", "expires", "limits"}));
    access::TokenChange change;
    if (const json::value* roles = body.if_contains("roles")) {
        BJ_TRY(change.roles, read_roles(*roles));
    }
    if (const json::value* expires = body.if_contains("expires")) {
        BJ_TRY(change.expires, read_expiry(*expires, now));
    }
    if (const json::value* limits = body.if_contains("limits")) {
        BJ_TRY(change.limits, read_limits(*limits, limits_now));
    }
    return change;
}

json::object token_change_schema() {
    json::object schema = object_schema({{"roles", roles_schema()},
                                         {"expires", expiry_schema()},
                                         {"limits", reference("TokenLimits")}},
                                        json::array{});
    schema["additionalProperties"] = false;
    return schema;
}

}  // namespace belljar::api
