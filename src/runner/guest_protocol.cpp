#include "runner/guest_protocol.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/base64.h"
#include "base/json.h"

namespace belljar::runner {
namespace {

constexpr std::size_t kMaxVariables = 1000;

std::optional<std::string> text_member(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains(key);
    if (value == nullptr || !value->is_string()) {
        return std::nullopt;
    }
    return std::string(value->get_string());
}

struct Range {
    int lowest;
    int highest;
};

std::optional<int> int_member(const json::object& object, std::string_view key, Range range) {
    const json::value* value = object.if_contains(key);
    if (value == nullptr || !value->is_int64() || value->get_int64() < range.lowest ||
        value->get_int64() > range.highest) {
        return std::nullopt;
    }
    return static_cast<int>(value->get_int64());
}

std::optional<execution::GuestError> read_error(const json::object& report) {
    const json::value* value = report.if_contains("error");
    if (value == nullptr || !value->is_object()) {
        return std::nullopt;
    }
    const json::object& object = value->get_object();
    execution::GuestError error{.type = text_member(object, "type").value_or("Error"),
                                .message = text_member(object, "message").value_or(""),
                                .traceback = text_member(object, "traceback")};
    error.line = int_member(object, "line", {.lowest = 1, .highest = 999'999'999});
    error.sys_errno = int_member(object, "errno", {.lowest = -4096, .highest = 4096});
    error.path = text_member(object, "path");
    return error;
}

std::vector<std::string> read_variables(const json::object& report) {
    std::vector<std::string> names;
    const json::value* value = report.if_contains("variables");
    if (value == nullptr || !value->is_array()) {
        return names;
    }
    for (const json::value& name : value->get_array()) {
        if (name.is_string() && names.size() < kMaxVariables) {
            names.emplace_back(name.get_string());
        }
    }
    return names;
}

}  // namespace

std::string encode_guest_request(const execution::RunRequest& request) {
    json::value imports(nullptr);
    if (request.allowed_imports) {
        imports = json::array(request.allowed_imports->begin(), request.allowed_imports->end());
    }
    json::object files;
    for (const auto& [path, content] : request.files) {
        files[path] = encode_base64(content);
    }
    json::object environment;
    for (const auto& [name, value] : request.environment) {
        environment[name] = value;
    }
    return to_text(
        json::object{{"code", request.code},
                     {"args", json::array(request.arguments.begin(), request.arguments.end())},
                     {"env", std::move(environment)},
                     {"files", std::move(files)},
                     {"allowed_imports", std::move(imports)}});
}

void apply_guest_report(std::string_view report, execution::RunResult& result) {
    const Result<json::value> parsed = parse_json(report);
    if (!parsed || !parsed->is_object()) {
        return;
    }
    const json::object& object = parsed->get_object();
    if (const json::value* value = object.if_contains("result");
        value != nullptr && !value->is_null()) {
        result.result_json = to_text(*value);
    }
    result.result_repr = text_member(object, "repr");
    result.variables = read_variables(object);
    result.error = read_error(object);
}

}  // namespace belljar::runner
