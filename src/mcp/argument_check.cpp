#include "mcp/argument_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <string>
#include <vector>

#include "mcp/quote.h"

namespace belljar::mcp {
namespace {

std::unexpected<Error> refuse(std::string message) {
    return fail(ErrorCode::InvalidArgument, std::move(message));
}

bool has_type(const json::value& value, std::string_view type) {
    const bool integer = value.is_int64() || value.is_uint64();
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "boolean" && value.is_bool()) ||
           (type == "null" && value.is_null()) || (type == "integer" && integer) ||
           (type == "number" && value.is_number());
}

std::string_view article(std::string_view type) {
    return type == "object" || type == "array" || type == "integer" ? "an" : "a";
}

Result<void> check_value(const std::string& name, const json::value& value,
                         const json::object& schema);

Result<void> check_type(const std::string& name, const json::value& value,
                        const json::object& schema) {
    const json::value* type = schema.if_contains("type");
    if (type == nullptr || has_type(value, type->get_string())) {
        return {};
    }
    const std::string_view wanted = type->get_string();
    return refuse(fmt::format("{} must be {} {}, not {}", name, article(wanted), wanted,
                              describe_kind(value)));
}

Result<void> check_choice(const std::string& name, const json::value& value,
                          const json::object& schema) {
    const json::value* choices = schema.if_contains("enum");
    if (choices == nullptr) {
        return {};
    }
    std::vector<std::string> words;
    for (const json::value& choice : choices->get_array()) {
        if (choice == value) {
            return {};
        }
        words.push_back(to_text(choice));
    }
    return refuse(fmt::format("{} must be one of {}", name, fmt::join(words, ", ")));
}

Result<void> check_number(const std::string& name, const json::value& value,
                          const json::object& schema) {
    if (!value.is_number()) {
        return {};
    }
    const auto number = value.to_number<double>();
    const json::value* least = schema.if_contains("minimum");
    const json::value* most = schema.if_contains("maximum");
    const json::value* above = schema.if_contains("exclusiveMinimum");
    if (least != nullptr && number < least->to_number<double>()) {
        return refuse(fmt::format("{} must be at least {}", name, to_text(*least)));
    }
    if (above != nullptr && !(number > above->to_number<double>())) {
        return refuse(fmt::format("{} must be greater than {}", name, to_text(*above)));
    }
    if (most != nullptr && number > most->to_number<double>()) {
        return refuse(fmt::format("{} must be at most {}", name, to_text(*most)));
    }
    return {};
}

Result<void> check_length(const std::string& name, const json::value& value,
                          const json::object& schema) {
    const json::string* text = value.if_string();
    if (text == nullptr) {
        return {};
    }
    const json::value* least = schema.if_contains("minLength");
    const json::value* most = schema.if_contains("maxLength");
    if (least != nullptr && text->size() < least->to_number<std::size_t>()) {
        return refuse(fmt::format("{} must not be empty", name));
    }
    if (most != nullptr && text->size() > most->to_number<std::size_t>()) {
        return refuse(fmt::format("{} is longer than {} bytes", name, to_text(*most)));
    }
    return {};
}

Result<void> check_items(const std::string& name, const json::value& value,
                         const json::object& schema) {
    const json::array* items = value.if_array();
    if (items == nullptr) {
        return {};
    }
    const json::value* most = schema.if_contains("maxItems");
    if (most != nullptr && items->size() > most->to_number<std::size_t>()) {
        return refuse(fmt::format("{} may have at most {} items", name, to_text(*most)));
    }
    if (const json::value* each = schema.if_contains("items")) {
        for (const json::value& item : *items) {
            BJ_TRY_VOID(check_value("each item of " + name, item, each->get_object()));
        }
    }
    return {};
}

std::string names_in(const json::object& properties) {
    std::vector<std::string_view> names;
    for (const auto& [name, schema] : properties) {
        names.push_back(name);
    }
    return names.empty() ? "none is allowed"
                         : fmt::format("allowed are {}", fmt::join(names, ", "));
}

Result<void> check_members(const json::object& object, const json::object& schema) {
    const json::object none;
    const json::value* listed = schema.if_contains("properties");
    const json::object& properties = listed != nullptr ? listed->get_object() : none;
    const json::value* others = schema.if_contains("additionalProperties");
    for (const auto& [key, value] : object) {
        const json::value* rule = properties.if_contains(key);
        if (rule == nullptr && others != nullptr && others->is_bool() && !others->get_bool()) {
            return refuse(fmt::format("unknown argument {}; {}", quote(key), names_in(properties)));
        }
        rule = rule != nullptr ? rule : others;
        if (rule != nullptr && rule->is_object() && !value.is_null()) {
            BJ_TRY_VOID(check_value(quote(key), value, rule->get_object()));
        }
    }
    return {};
}

Result<void> check_required(const json::object& object, const json::object& schema) {
    const json::value* required = schema.if_contains("required");
    for (const json::value& name : required != nullptr ? required->get_array() : json::array{}) {
        const json::value* value = object.if_contains(name.get_string());
        if (value == nullptr || value->is_null()) {
            return refuse(fmt::format("{} is required", quote(name.get_string())));
        }
    }
    return {};
}

Result<void> check_value(const std::string& name, const json::value& value,
                         const json::object& schema) {
    if (const json::value* choices = schema.if_contains("anyOf")) {
        const auto fits = [&](const json::value& choice) {
            return check_value(name, value, choice.get_object()).has_value();
        };
        if (std::ranges::none_of(choices->get_array(), fits)) {
            return refuse(fmt::format("{} must fit {}", name, to_text(*choices)));
        }
    }
    BJ_TRY_VOID(check_type(name, value, schema));
    BJ_TRY_VOID(check_choice(name, value, schema));
    BJ_TRY_VOID(check_number(name, value, schema));
    BJ_TRY_VOID(check_length(name, value, schema));
    BJ_TRY_VOID(check_items(name, value, schema));
    if (value.is_object()) {
        BJ_TRY_VOID(check_required(value.get_object(), schema));
        return check_members(value.get_object(), schema);
    }
    return {};
}

}  // namespace

Result<void> check_arguments(const json::object& arguments, const json::object& schema) {
    BJ_TRY_VOID(check_members(arguments, schema));
    return check_required(arguments, schema);
}

}  // namespace belljar::mcp
