#include "access/token_json.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value_to.hpp>
#include <utility>

#include "base/json.h"

namespace belljar::access {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kHashLength = 64;

Error malformed() {
    return {.code = ErrorCode::InvalidArgument,
            .message =
                "tokens.json is not what Belljar wrote; put a good copy back, or delete it "
                "and make the tokens anew"};
}

std::optional<std::string> text_of(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains(key);
    return value != nullptr && value->is_string() ? std::optional(std::string(value->get_string()))
                                                  : std::nullopt;
}

std::optional<WallTime> time_of(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains(key);
    return value != nullptr && value->is_int64()
               ? std::optional(WallTime(std::chrono::seconds(value->get_int64())))
               : std::nullopt;
}

bool is_hash(const std::string& text) {
    return text.size() == kHashLength &&
           text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::optional<std::vector<std::string>> roles_of(const json::object& object) {
    const json::value* value = object.if_contains("roles");
    if (value == nullptr || !value->is_array()) {
        return std::nullopt;
    }
    std::vector<std::string> roles;
    for (const json::value& role : value->get_array()) {
        if (!role.is_string() || !is_tool_set_name(role.get_string())) {
            return std::nullopt;
        }
        roles.emplace_back(role.get_string());
    }
    return roles;
}

// One limit of a record. Files of before there were limits have none of them.
template <typename Number>
bool read_limit(const json::object& object, std::string_view key, std::optional<Number>& limit) {
    const json::value* value = object.if_contains(key);
    if (value == nullptr) {
        return true;
    }
    if (!value->is_int64() || value->get_int64() < 0 ||
        !std::in_range<Number>(value->get_int64())) {
        return false;
    }
    limit = static_cast<Number>(value->get_int64());
    return true;
}

bool read_profile(const json::object& object, std::optional<std::string>& profile) {
    const json::value* value = object.if_contains("profile");
    if (value == nullptr) {
        return true;
    }
    if (!value->is_string() || value->get_string().empty()) {
        return false;
    }
    profile = std::string(value->get_string());
    return true;
}

std::optional<execution::PrincipalLimits> limits_of(const json::object& object) {
    execution::PrincipalLimits limits;
    const json::value* value = object.if_contains("limits");
    if (value == nullptr) {
        return limits;
    }
    return value->is_object() ? limits_from_json(value->get_object()) : std::nullopt;
}

Result<TokenRecord> record_from(const json::value& value) {
    if (!value.is_object()) {
        return fail(malformed());
    }
    const json::object& object = value.get_object();
    const std::optional<std::string> name = text_of(object, "name");
    const std::optional<std::string> sha256 = text_of(object, "sha256");
    const std::optional<std::vector<std::string>> roles = roles_of(object);
    const std::optional<WallTime> created = time_of(object, "created");
    const std::optional<execution::PrincipalLimits> limits = limits_of(object);
    const json::value* expires = object.if_contains("expires");
    const bool fits = name && is_tool_set_name(*name) && sha256 && is_hash(*sha256) && roles &&
                      created && limits && expires != nullptr &&
                      (expires->is_null() || expires->is_int64());
    if (!fits) {
        return fail(malformed());
    }
    return TokenRecord{.name = *name,
                       .sha256 = *sha256,
                       .roles = *roles,
                       .created = *created,
                       .expires = time_of(object, "expires"),
                       .limits = *limits};
}

}  // namespace

std::optional<execution::PrincipalLimits> limits_from_json(const json::object& object) {
    execution::PrincipalLimits limits;
    const bool fits = read_limit(object, "requests_per_minute", limits.requests_per_minute) &&
                      read_limit(object, "concurrent_runs", limits.concurrent_runs) &&
                      read_limit(object, "runs_per_day", limits.runs_per_day) &&
                      read_limit(object, "cpu_seconds_per_day", limits.cpu_seconds_per_day) &&
                      read_limit(object, "storage_bytes", limits.storage_bytes) &&
                      read_profile(object, limits.profile);
    return fits ? std::optional(limits) : std::nullopt;
}

json::object limits_to_json(const execution::PrincipalLimits& limits) {
    json::object object;
    const auto add = [&object](std::string_view key, const auto& limit) {
        if (limit) {
            object[key] = *limit;
        }
    };
    add("requests_per_minute", limits.requests_per_minute);
    add("concurrent_runs", limits.concurrent_runs);
    add("runs_per_day", limits.runs_per_day);
    add("cpu_seconds_per_day", limits.cpu_seconds_per_day);
    add("storage_bytes", limits.storage_bytes);
    add("profile", limits.profile);
    return object;
}

std::string tokens_to_text(const std::vector<TokenRecord>& records) {
    json::array tokens;
    for (const TokenRecord& record : records) {
        json::array roles(record.roles.begin(), record.roles.end());
        json::value expires;
        if (record.expires) {
            expires = record.expires->time_since_epoch().count();
        }
        tokens.push_back(json::object{{"name", record.name},
                                      {"sha256", record.sha256},
                                      {"roles", std::move(roles)},
                                      {"created", record.created.time_since_epoch().count()},
                                      {"expires", std::move(expires)},
                                      {"limits", limits_to_json(record.limits)}});
    }
    return to_text(json::object{{"version", kVersion}, {"tokens", std::move(tokens)}}) + "\n";
}

Result<std::vector<TokenRecord>> tokens_from_text(std::string_view text) {
    const Result<json::value> parsed = parse_json(text);
    if (!parsed || !parsed->is_object()) {
        return fail(malformed());
    }
    const json::object& object = parsed->get_object();
    const json::value* version = object.if_contains("version");
    const json::value* tokens = object.if_contains("tokens");
    if (version == nullptr || *version != json::value(kVersion) || tokens == nullptr ||
        !tokens->is_array()) {
        return fail(malformed());
    }
    std::vector<TokenRecord> records;
    for (const json::value& token : tokens->get_array()) {
        BJ_TRY(TokenRecord record, record_from(token));
        records.push_back(std::move(record));
    }
    return records;
}

}  // namespace belljar::access
