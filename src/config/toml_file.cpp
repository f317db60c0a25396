#include "config/toml_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "config/schema.h"
#include "config/toml_parser.h"
#include "config/toml_text.h"

namespace belljar::config {
namespace {

using Kind = RawValue::Kind;

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
    if (text.size() > kMaximumFileSize.count) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("{}: the file is larger than {}", file_name,
                                format_bytes(kMaximumFileSize)));
    }
    BJ_TRY(const std::string prepared, prepare_toml(text, file_name));
    const toml::parse_result parsed = toml::parse(std::string_view(prepared));
    if (!parsed) {
        const toml::source_position where = parsed.error().source().begin;
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("{}:{}:{}: not valid TOML: {}", file_name, where.line, where.column,
                                parsed.error().description()));
    }
    return entries_of(parsed.table());
}

}  // namespace belljar::config
