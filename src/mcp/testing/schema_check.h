#pragma once

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>

#include "base/json.h"

namespace belljar::mcp {

inline bool has_type(const json::value& value, std::string_view type) {
    const bool integer = value.is_int64() || value.is_uint64();
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "boolean" && value.is_bool()) ||
           (type == "null" && value.is_null()) || (type == "integer" && integer) ||
           (type == "number" && (integer || value.is_double()));
}

inline bool has_some_type(const json::value& value, const json::value& types) {
    if (const json::array* list = types.if_array()) {
        return std::ranges::any_of(
            *list, [&](const json::value& type) { return has_type(value, type.as_string()); });
    }
    return has_type(value, types.as_string());
}

std::string schema_fault(const json::value& value, const json::object& schema);

inline std::string object_fault(const json::object& object, const json::object& schema) {
    if (const json::value* required = schema.if_contains("required")) {
        for (const json::value& name : required->as_array()) {
            if (!object.contains(name.as_string())) {
                return "missing " + std::string(name.as_string());
            }
        }
    }
    const json::value* properties = schema.if_contains("properties");
    for (const auto& [key, member] : object) {
        const json::value* rule =
            properties != nullptr ? properties->as_object().if_contains(key) : nullptr;
        rule = rule != nullptr ? rule : schema.if_contains("additionalProperties");
        if (rule != nullptr && rule->is_bool() && !rule->as_bool()) {
            return "unexpected " + std::string(key);
        }
        const std::string fault =
            rule != nullptr && rule->is_object() ? schema_fault(member, rule->as_object()) : "";
        if (!fault.empty()) {
            return std::string(key) + ": " + fault;
        }
    }
    return "";
}

// What makes `value` violate `schema`, or nothing. Knows the keywords our own schemas use.
inline std::string schema_fault(const json::value& value, const json::object& schema) {
    if (const json::value* type = schema.if_contains("type");
        type && !has_some_type(value, *type)) {
        return "is " + std::string(describe_kind(value)) + ", not " + to_text(*type);
    }
    if (const json::value* values = schema.if_contains("enum")) {
        if (std::ranges::find(values->as_array(), value) == values->as_array().end()) {
            return "is not one of " + to_text(*values);
        }
    }
    if (const json::value* choices = schema.if_contains("anyOf")) {
        if (std::ranges::none_of(choices->as_array(), [&](const json::value& choice) {
                return schema_fault(value, choice.as_object()).empty();
            })) {
            return "fits none of " + to_text(*choices);
        }
    }
    if (const json::array* items = value.if_array(); items && schema.contains("items")) {
        for (const json::value& item : *items) {
            if (std::string fault = schema_fault(item, schema.at("items").as_object());
                !fault.empty()) {
                return "item " + fault;
            }
        }
    }
    return value.is_object() ? object_fault(value.get_object(), schema) : "";
}

}  // namespace belljar::mcp
