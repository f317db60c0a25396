#include "admin_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <map>
#include <vector>

#include "base/json.h"

namespace belljar::apps {
namespace {

using Columns = std::vector<std::string_view>;

constexpr std::size_t kWidest = 48;

struct Table {
    std::string_view list;
    Columns columns;
};

const std::map<std::string_view, Table>& tables() {
    static const std::map<std::string_view, Table> kTables{
        {"runs", {"runs", {"execution_id", "principal", "language", "state", "created_at"}}},
        {"sessions", {"sessions", {"session_id", "principal", "language", "cells", "busy"}}},
        {"tokens", {"tokens", {"name", "roles", "expires", "limits"}}},
        {"usage", {"usage", {"principal", "day", "runs", "cpu_seconds"}}},
        {"conversations",
         {"conversations", {"principal", "conversation_id", "bytes", "files", "last_used"}}},
        {"cleanup", {"removals", {"principal", "conversation_id", "bytes", "last_used", "reason"}}},
        {"alerts", {"alerts", {"time", "rule", "severity", "principal", "events", "text"}}},
        {"blocks", {"blocks", {"principal", "until", "reason"}}},
        {"block", {"blocks", {"principal", "until", "reason"}}},
        {"quarantines", {"quarantines", {"principal", "conversation_id", "since", "reason"}}},
        {"quarantine", {"quarantines", {"principal", "conversation_id", "since", "reason"}}},
        {"config", {"settings", {"key", "value", "origin"}}}};
    return kTables;
}

// On one line; a terminal must not take any of it for a command.
std::string shown(const json::value* value) {
    if (value == nullptr || value->is_null()) {
        return "-";
    }
    std::string text = value->is_string() ? std::string(value->get_string()) : to_text(*value);
    std::ranges::replace_if(
        text,
        [](char letter) { return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F; },
        '?');
    return text.empty() ? "-" : text;
}

std::string render(const json::array& rows, const Columns& columns) {
    std::vector<std::vector<std::string>> cells{{columns.begin(), columns.end()}};
    for (const json::value& row : rows) {
        std::vector<std::string>& line = cells.emplace_back();
        for (const std::string_view column : columns) {
            line.push_back(shown(row.is_object() ? row.get_object().if_contains(column) : nullptr));
        }
    }
    std::string text;
    for (const std::vector<std::string>& line : cells) {
        for (std::size_t index = 0; index < columns.size(); ++index) {
            std::size_t width = 0;
            for (const std::vector<std::string>& other : cells) {
                width = std::max(width, std::min(other[index].size(), kWidest));
            }
            const bool last = index + 1 == columns.size();
            text += last ? line[index] : fmt::format("{:<{}}  ", line[index], width);
        }
        text += '\n';
    }
    return text;
}

}  // namespace

std::string admin_view(std::string_view deed, std::string_view body) {
    if (body.empty()) {
        return "done\n";
    }
    const Result<json::value> parsed = parse_json(body);
    if (!parsed || !parsed->is_object()) {
        return std::string(body) + "\n";
    }
    const json::object& object = parsed->get_object();
    const auto table = tables().find(deed);
    std::string text;
    if (table != tables().end()) {
        const json::value* rows = object.if_contains(table->second.list);
        if (rows != nullptr && rows->is_array()) {
            text = render(rows->get_array(), table->second.columns);
        }
    }
    for (const auto& [key, value] : object) {
        if (table == tables().end() ||
            (std::string_view(key) != table->second.list && !value.is_null())) {
            text += fmt::format("{}: {}\n", std::string_view(key), shown(&value));
        }
    }
    return text;
}

}  // namespace belljar::apps
