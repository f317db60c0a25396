#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/operation.h"

namespace belljar::api {

// What descriptions of operations are made of.

// {"$ref": ...} to a schema that the table has by this name.
[[nodiscard]] json::object reference(std::string_view schema);
[[nodiscard]] json::object object_schema(json::object properties, json::array required);

[[nodiscard]] json::object text_schema();
[[nodiscard]] json::object count_schema();

// An answer in JSON of a schema that the table has.
[[nodiscard]] Answer answer_in(std::string_view schema, std::string_view description,
                               unsigned status = 200);
[[nodiscard]] Parameter query_parameter(std::string_view name, std::string_view description,
                                        json::object schema = {{"type", "string"}});
[[nodiscard]] Parameter header_parameter(std::string_view name, std::string_view description,
                                         json::object schema = {{"type", "string"}});

// Tagged `admin`, for those who may operate the server.
[[nodiscard]] Operation operation_of_operators(std::string_view id, std::string_view method,
                                               std::string_view path, std::string_view summary);

// For an answer that is at hand.
[[nodiscard]] Task<access::HttpResponse> answer_at_once(access::HttpResponse response);

}  // namespace belljar::api
