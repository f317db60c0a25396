#include "mcp/tool_arguments.h"

namespace belljar::mcp {

bool is_given(const json::object& arguments, std::string_view name) {
    const json::value* value = arguments.if_contains(name);
    return value != nullptr && !value->is_null();
}

std::string text_of(const json::object& arguments, std::string_view name) {
    const json::value* value = arguments.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

std::uint64_t number_of(const json::object& arguments, std::string_view name, std::uint64_t usual) {
    const json::value* value = arguments.if_contains(name);
    boost::system::error_code error;
    const auto number =
        value != nullptr && value->is_number() ? value->to_number<std::uint64_t>(error) : usual;
    return error ? usual : number;
}

bool is_true(const json::object& arguments, std::string_view name) {
    const json::value* value = arguments.if_contains(name);
    return value != nullptr && value->is_bool() && value->get_bool();
}

bool is_false(const json::object& arguments, std::string_view name) {
    const json::value* value = arguments.if_contains(name);
    return value != nullptr && value->is_bool() && !value->get_bool();
}

}  // namespace belljar::mcp
