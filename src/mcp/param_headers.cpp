#include "mcp/param_headers.h"

#include <fmt/format.h>

#include <charconv>

#include "base/base64.h"
#include "base/utf8.h"
#include "mcp/quote.h"

namespace belljar::mcp {
namespace {

constexpr int kDeepest = 8;

// Only what is reached through "properties" alone has one place in the arguments.
void collect(const json::object& schema, std::vector<std::string>& path,
             std::vector<ParamHeader>& found) {
    const json::value* properties = schema.if_contains("properties");
    if (properties == nullptr || !properties->is_object() || path.size() >= kDeepest) {
        return;
    }
    for (const json::key_value_pair& property : properties->get_object()) {
        const json::object* inner = property.value().if_object();
        if (inner == nullptr) {
            continue;
        }
        path.emplace_back(property.key());
        const json::value* name = inner->if_contains("x-mcp-header");
        if (name != nullptr && name->is_string()) {
            found.push_back(
                {.header = fmt::format("Mcp-Param-{}", std::string_view(name->get_string())),
                 .path = path});
        }
        collect(*inner, path, found);
        path.pop_back();
    }
}

// nullptr if there is none, or null in its place.
const json::value* argument_at(const json::object& arguments,
                               const std::vector<std::string>& path) {
    const json::object* object = &arguments;
    const json::value* value = nullptr;
    for (const std::string& name : path) {
        value = object != nullptr ? object->if_contains(name) : nullptr;
        object = value != nullptr ? value->if_object() : nullptr;
    }
    return value != nullptr && !value->is_null() ? value : nullptr;
}

bool says_the_same(const std::string& header, const json::value& argument) {
    if (argument.is_string()) {
        return argument.get_string() == header;
    }
    if (argument.is_bool()) {
        return header == (argument.get_bool() ? "true" : "false");
    }
    std::int64_t number = 0;
    const char* end = header.data() + header.size();
    const auto [rest, error] = std::from_chars(header.data(), end, number);
    return argument.is_int64() && error == std::errc{} && rest == end &&
           argument.get_int64() == number;
}

RpcError mismatch(std::string message) {
    return {.code = RpcCode::HeaderMismatch, .message = std::move(message)};
}

}  // namespace

std::vector<ParamHeader> find_param_headers(const json::object& input_schema) {
    std::vector<ParamHeader> found;
    std::vector<std::string> path;
    collect(input_schema, path, found);
    return found;
}

// Values that do not fit into a header travel as =?base64?...?=.
std::optional<std::string> decode_header_value(std::string_view value) {
    constexpr std::string_view kPrefix = "=?base64?";
    constexpr std::string_view kSuffix = "?=";
    if (value.size() < kPrefix.size() + kSuffix.size() || !value.starts_with(kPrefix) ||
        !value.ends_with(kSuffix)) {
        return std::string(value);
    }
    value.remove_prefix(kPrefix.size());
    value.remove_suffix(kSuffix.size());
    const Result<std::string> decoded = decode_base64(value);
    return decoded && is_valid_utf8(*decoded) ? std::optional(*decoded) : std::nullopt;
}

std::optional<RpcError> find_param_fault(const std::vector<ParamHeader>& marked,
                                         const json::object& arguments,
                                         const access::HttpRequest& request) {
    for (const ParamHeader& param : marked) {
        const json::value* argument = argument_at(arguments, param.path);
        const std::optional<std::string> header = request.header(param.header);
        if (!header && request.headers.contains(param.header)) {
            return mismatch(
                fmt::format("The {} header is given twice with different values.", param.header));
        }
        if (argument == nullptr && !header) {
            continue;
        }
        if (argument == nullptr || !header) {
            return mismatch(
                fmt::format("The {} header and the argument \"{}\" must both be given "
                            "or both be left out.",
                            param.header, param.path.back()));
        }
        const std::optional<std::string> value = decode_header_value(*header);
        if (!value || !says_the_same(*value, *argument)) {
            return mismatch(
                fmt::format("The {} header says {}, which is not what the argument "
                            "\"{}\" says.",
                            param.header, quote(*header), param.path.back()));
        }
    }
    return std::nullopt;
}

}  // namespace belljar::mcp
