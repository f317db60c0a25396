#include "api/operation_parts.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>

namespace belljar::api {

json::object reference(std::string_view schema) {
    return {{"$ref", fmt::format("#/components/schemas/{}", schema)}};
}

json::object object_schema(json::object properties, json::array required) {
    return {{"type", "object"},
            {"properties", std::move(properties)},
            {"required", std::move(required)},
            {"additionalProperties", false}};
}

json::object text_schema() { return {{"type", "string"}}; }

json::object count_schema() { return {{"type", "integer"}, {"minimum", 0}}; }

Operation operation_of_operators(std::string_view id, std::string_view method,
                                 std::string_view path, std::string_view summary) {
    return {.id = std::string(id),
            .method = std::string(method),
            .path = std::string(path),
            .tag = "admin",
            .summary = std::string(summary),
            .rights = {access::Right::Operate}};
}

Answer answer_in(std::string_view schema, std::string_view description, unsigned status) {
    return {.status = status,
            .description = std::string(description),
            .content = {{.schema = reference(schema)}}};
}

Parameter query_parameter(std::string_view name, std::string_view description,
                          json::object schema) {
    return {.name = std::string(name),
            .place = Parameter::Place::Query,
            .description = std::string(description),
            .schema = std::move(schema)};
}

Parameter header_parameter(std::string_view name, std::string_view description,
                           json::object schema) {
    return {.name = std::string(name),
            .place = Parameter::Place::Header,
            .description = std::string(description),
            .schema = std::move(schema)};
}

Task<access::HttpResponse> answer_at_once(access::HttpResponse response) {
    co_return std::move(response);
}

}  // namespace belljar::api
