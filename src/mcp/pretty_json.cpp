#include "mcp/pretty_json.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace belljar::mcp {
namespace {

// As deep as the values are that parse_json() takes and that we make ourselves.
void write(std::string& text, const json::value& value, std::size_t indent);

void begin_line(std::string& text, std::size_t indent) {
    text += '\n';
    text.append(indent, ' ');
}

void write_object(std::string& text, const json::object& object, std::size_t indent) {
    bool first = true;
    for (const auto& [key, member] : object) {
        text += first ? "{" : ",";
        first = false;
        begin_line(text, indent + 2);
        text += to_text(json::value(key)) + ": ";
        write(text, member, indent + 2);
    }
    begin_line(text, indent);
    text += '}';
}

void write_array(std::string& text, const json::array& array, std::size_t indent) {
    bool first = true;
    for (const json::value& item : array) {
        text += first ? "[" : ",";
        first = false;
        begin_line(text, indent + 2);
        write(text, item, indent + 2);
    }
    begin_line(text, indent);
    text += ']';
}

void write(std::string& text, const json::value& value, std::size_t indent) {
    if (value.is_object() && !value.get_object().empty()) {
        write_object(text, value.get_object(), indent);
    } else if (value.is_array() && !value.get_array().empty()) {
        write_array(text, value.get_array(), indent);
    } else if (value.is_double()) {
        text += fmt::format("{}", value.get_double());
    } else {
        text += to_text(value);
    }
}

}  // namespace

std::string pretty(const json::value& value) {
    std::string text;
    write(text, value, 0);
    return text;
}

}  // namespace belljar::mcp
