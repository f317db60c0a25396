#include "config/toml_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "config/schema.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 8
#include <toml++/toml.h>

namespace belljar::config {
namespace {

using Kind = RawValue::Kind;

// toml++ frees nested tables by recursion, and a dotted key nests as deep as it has dots; a line
// full of them would overflow the stack. No key of the schema has more than one.
constexpr std::size_t kMaximumDotsPerLine = 32;

// The problem of one line, if it has one that must be found before parsing.
std::optional<std::string_view> find_line_problem(std::string_view line) {
    std::size_t dots = 0;
    char quote = '\0';  // the mark that ends the string we are in
    for (std::size_t index = 0; index < line.size(); ++index) {
        const char letter = line[index];
        if (quote != '\0') {
            index += quote == '"' && letter == '\\' ? 1 : 0;
            quote = letter == quote ? '\0' : quote;
        } else if (letter == '#') {
            break;
        } else if (line.substr(index).starts_with("\"\"\"") ||
                   line.substr(index).starts_with("'''")) {
            return "text over several lines is not allowed for any key";
        } else if (letter == '"' || letter == '\'') {
            quote = letter;
        } else if (letter == '.' && ++dots > kMaximumDotsPerLine) {
            return "too many dots; a key is written as section.key";
        }
    }
    return std::nullopt;
}

std::optional<std::string> find_text_problem(std::string_view text) {
    if (text.size() > kMaximumFileSize.count) {
        return fmt::format(": the file is larger than {}", format_bytes(kMaximumFileSize));
    }
    std::size_t number = 1;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        if (line.contains('\0')) {
            return fmt::format(":{}: the line contains a NUL byte", number);
        }
        if (const auto problem = find_line_problem(line)) {
            return fmt::format(":{}: {}", number, *problem);
        }
        text.remove_prefix(std::min(end + 1, text.size()));
        ++number;
    }
    return std::nullopt;
}

RawValue list_of(const toml::array& array) {
    RawValue list{.kind = Kind::List};
    for (const toml::node& item : array) {
        const toml::value<std::string>* text = item.as_string();
        if (text == nullptr) {
            return RawValue{.kind = Kind::Other, .text = "a list with something other than text"};
        }
        list.items.push_back(text->get());
    }
    return list;
}

RawValue value_of(const toml::node& node) {
    switch (node.type()) {
        case toml::node_type::string:
            return RawValue{.kind = Kind::Text, .text = node.as_string()->get()};
        case toml::node_type::integer:
            return RawValue{.kind = Kind::Integer,
                            .text = fmt::format("{}", node.as_integer()->get())};
        case toml::node_type::floating_point:
            return RawValue{.kind = Kind::Decimal,
                            .text = fmt::format("{}", node.as_floating_point()->get())};
        case toml::node_type::boolean:
            return RawValue{.kind = Kind::Boolean,
                            .text = node.as_boolean()->get() ? "true" : "false"};
        case toml::node_type::array:
            return list_of(*node.as_array());
        case toml::node_type::table:
            return RawValue{.kind = Kind::Table, .text = "a table"};
        default:
            return RawValue{.kind = Kind::Other, .text = "a date or time"};
    }
}

FileEntry entry_of(std::string name, const toml::key& key, const toml::node& node) {
    return FileEntry{
        .name = std::move(name), .value = value_of(node), .line = key.source().begin.line};
}

bool is_section(std::string_view name) {
    const std::vector<std::string_view> sections = section_names();
    return std::ranges::find(sections, name) != sections.end();
}

std::vector<FileEntry> entries_of(const toml::table& root) {
    std::vector<FileEntry> entries;
    for (const auto& [key, node] : root) {
        const toml::table* table = node.as_table();
        if (table == nullptr || !is_section(key.str())) {
            entries.push_back(entry_of(std::string(key.str()), key, node));
            continue;
        }
        for (const auto& [inner_key, inner_node] : *table) {
            entries.push_back(
                entry_of(fmt::format("{}.{}", key.str(), inner_key.str()), inner_key, inner_node));
        }
    }
    std::ranges::sort(entries, {},
                      [](const FileEntry& entry) { return std::tie(entry.line, entry.name); });
    return entries;
}

}  // namespace

Result<std::vector<FileEntry>> read_toml(std::string_view text, const std::string& file_name) {
    if (const auto problem = find_text_problem(text)) {
        return fail(ErrorCode::InvalidArgument, file_name + *problem);
    }
    const toml::parse_result parsed = toml::parse(text);
    if (!parsed) {
        const toml::source_position where = parsed.error().source().begin;
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("{}:{}:{}: not valid TOML: {}", file_name, where.line, where.column,
                                parsed.error().description()));
    }
    return entries_of(parsed.table());
}

}  // namespace belljar::config
