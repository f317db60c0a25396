#include "api/open_api.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>

#include "api/operation_parts.h"
#include "api/repeats.h"
#include "base/ascii.h"

namespace belljar::api {
namespace {

constexpr std::string_view kIntroduction =
    "Runs untrusted code in sandboxes made with the kernel's own means. Everything under `/v1` is "
    "the native interface; the other paths are for clients of other services, and for MCP.\n\n"
    "Send a token as `Authorization: Bearer ...`. Refusals under `/v1` are problem details "
    "(RFC 9457), elsewhere an object with the member `error`.";

bool is_native(const Operation& operation) { return operation.path.starts_with("/v1/"); }

// OpenAPI has no name for a variable with slashes in it: they are sent as they are.
std::string template_of(std::string_view path) {
    std::string text(path);
    if (const std::size_t dots = text.find("...}"); dots != std::string::npos) {
        text.erase(dots, 3);
    }
    return text;
}

json::array path_parameters(const Operation& operation) {
    json::array parameters;
    for (std::size_t begin = operation.path.find('{'); begin != std::string::npos;
         begin = operation.path.find('{', begin + 1)) {
        const std::size_t end = operation.path.find_first_of(".}", begin);
        const std::string name = operation.path.substr(begin + 1, end - begin - 1);
        const auto schema = operation.path_schemas.find(name);
        json::object parameter{{"name", name},
                               {"in", "path"},
                               {"required", true},
                               {"schema", schema == operation.path_schemas.end()
                                              ? json::object{{"type", "string"}, {"minLength", 1}}
                                              : schema->second}};
        if (operation.path[end] == '.') {
            parameter["x-slashes"] = true;
        }
        parameters.push_back(std::move(parameter));
    }
    return parameters;
}

json::array parameters_of(const Operation& operation) {
    json::array parameters = path_parameters(operation);
    std::vector<Parameter> all = operation.parameters;
    if (Repeats::keeps(operation.method, operation.path)) {
        all.push_back(repeat_parameter());
    }
    for (const Parameter& parameter : all) {
        parameters.push_back(
            {{"name", parameter.name},
             {"in", parameter.place == Parameter::Place::Query ? "query" : "header"},
             {"required", parameter.presence == Parameter::Presence::Required},
             {"description", parameter.description},
             {"schema", parameter.schema}});
    }
    return parameters;
}

json::object content_of(const std::vector<Content>& contents) {
    json::object object;
    for (const Content& content : contents) {
        object[content.media_type] = json::object{{"schema", content.schema}};
    }
    return object;
}

json::object response_of(const Answer& answer) {
    json::object object{{"description", answer.description}};
    if (!answer.content.empty()) {
        object["content"] = content_of(answer.content);
    }
    json::object headers;
    for (const Parameter& header : answer.headers) {
        headers[header.name] =
            json::object{{"description", header.description}, {"schema", header.schema}};
    }
    if (!headers.empty()) {
        object["headers"] = std::move(headers);
    }
    return object;
}

json::object refusal_of(const Operation& operation) {
    const Content content = is_native(operation) ? Content{.media_type = "application/problem+json",
                                                           .schema = reference("Problem")}
                                                 : Content{.schema = reference("Refusal")};
    return response_of({.description = "A refusal, which says what to do.", .content = {content}});
}

json::object responses_of(const Operation& operation) {
    json::object responses;
    for (const Answer& answer : operation.answers) {
        responses[std::to_string(answer.status)] = response_of(answer);
    }
    for (const std::string_view refusals : {"4XX", "5XX"}) {
        responses[refusals] = refusal_of(operation);
    }
    return responses;
}

json::object operation_object(const Operation& operation) {
    json::object object{{"operationId", operation.id},
                        {"tags", json::array{operation.tag}},
                        {"summary", operation.summary},
                        {"responses", responses_of(operation)},
                        {"x-rights", access::scope_of(operation.rights)}};
    if (!operation.description.empty()) {
        object["description"] = operation.description;
    }
    if (json::array parameters = parameters_of(operation); !parameters.empty()) {
        object["parameters"] = std::move(parameters);
    }
    if (!operation.bodies.empty()) {
        object["requestBody"] = json::object{{"required", !operation.body_optional},
                                             {"content", content_of(operation.bodies)}};
    }
    if (operation.door == access::Gate::Door::Open) {
        object["security"] = json::array{};
    }
    return object;
}

json::object components_of(const OperationTable& table) {
    json::object schemas;
    for (const auto& [name, schema] : table.schemas()) {
        schemas[name] = schema;
    }
    return {{"schemas", std::move(schemas)},
            {"securitySchemes",
             json::object{{"token", json::object{{"type", "http"}, {"scheme", "bearer"}}}}}};
}

}  // namespace

json::object describe(const OperationTable& table, const std::string& version) {
    json::object paths;
    for (const auto& operation : table.operations()) {
        std::string method = operation->method;
        for (char& letter : method) {
            letter = to_lower(letter);
        }
        json::value& path = paths[template_of(operation->path)];
        if (!path.is_object()) {
            path = json::object{};
        }
        path.get_object()[method] = operation_object(*operation);
    }
    return {
        {"openapi", "3.1.0"},
        {"info",
         json::object{{"title", "Belljar"}, {"version", version}, {"description", kIntroduction}}},
        {"security", json::array{json::object{{"token", json::array{}}}}},
        {"paths", std::move(paths)},
        {"components", components_of(table)}};
}

}  // namespace belljar::api
