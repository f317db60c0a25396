#include "mcp/tools_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <sstream>

#include "base/ascii.h"
#include "base/utf8.h"
#include "mcp/script_run.h"
#include "mcp/tool_arguments.h"
#include "mcp/tool_schemas.h"
#include "mcp/tool_table.h"

namespace belljar::mcp {
namespace {

constexpr std::size_t kMostResults = 40;

constexpr std::string_view kInput = R"({
  "type": "object",
  "properties": {
    "query": {
      "type": "string",
      "maxLength": 200,
      "description": "Words to look for in names and descriptions; empty for everything."
    },
    "detail": {
      "type": "string",
      "enum": ["names", "summary", "full"],
      "default": "summary",
      "description": "How much to tell of each."
    }
  },
  "required": ["query"],
  "additionalProperties": false
})";

constexpr std::string_view kOutput = R"({
  "type": "object",
  "properties": {
    "query": {"type": "string"},
    "results": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "kind": {
            "type": "string",
            "enum": ["function", "tool"],
            "description": "A function of a module that programs import, or a tool to be called."
          },
          "module": {"type": "string"},
          "name": {"type": "string"},
          "signature": {"type": "string"},
          "description": {"type": "string"}
        },
        "required": ["kind", "name", "signature"]
      }
    },
    "total": {"type": "integer", "description": "How many there are, shown or not."}
  },
  "required": ["query", "results", "total"]
})";

struct Item {
    std::string_view kind;
    std::string module{};
    std::string name{};
    std::string signature{};
    std::string description{};
};

std::string clipped(const json::object& object, std::string_view name, std::size_t limit) {
    const json::value* value = object.if_contains(name);
    return value != nullptr && value->is_string()
               ? std::string(utf8_beginning(value->get_string(), limit))
               : "";
}

// "execute_code(code, language?, ...)".
std::string signature_of(const ToolDefinition& tool) {
    const json::value* required = tool.input_schema.if_contains("required");
    std::vector<std::string> names;
    for (const auto& [name, schema] : tool.input_schema.at("properties").get_object()) {
        const bool needed =
            required != nullptr && std::ranges::find(required->get_array(), json::value(name)) !=
                                       required->get_array().end();
        names.push_back(std::string(name) + (needed ? "" : "?"));
    }
    return fmt::format("{}({})", tool.name, fmt::join(names, ", "));
}

void add_tools(const engine::SandboxInfo& info, std::vector<Item>& items) {
    for (const Tool& tool : all_tools()) {
        if (tool.dialect == Dialect::Own) {
            ToolDefinition definition = tool.define(info);
            items.push_back({.kind = "tool",
                             .name = std::string(tool.name),
                             .signature = signature_of(definition),
                             .description = std::move(definition.description)});
        }
    }
}

// What the script has read out of the modules, which their authors wrote.
void add_functions(const json::value& value, std::vector<Item>& items) {
    constexpr std::size_t kMostFunctions = 1000;
    constexpr std::size_t kLongestText = 4096;
    if (!value.is_array()) {
        return;
    }
    for (const json::value& entry : value.get_array()) {
        if (entry.is_object() && items.size() < kMostFunctions) {
            const json::object& function = entry.get_object();
            items.push_back({.kind = "function",
                             .module = clipped(function, "module", 256),
                             .name = clipped(function, "name", 256),
                             .signature = clipped(function, "signature", 1024),
                             .description = clipped(function, "description", kLongestText)});
        }
    }
}

std::size_t count_matches(const Item& item, const std::vector<std::string>& words) {
    const std::string text =
        to_lower(item.module + ' ' + item.name + ' ' + item.signature + ' ' + item.description);
    return static_cast<std::size_t>(std::ranges::count_if(
        words, [&text](const std::string& word) { return text.contains(word); }));
}

// Those that have all words; if there are none, those that have one.
std::vector<Item> matching(std::vector<Item> items, std::string_view query) {
    std::vector<std::string> words;
    std::istringstream stream{to_lower(query)};
    for (std::string word; stream >> word;) {
        words.push_back(word);
    }
    const auto with = [&](std::size_t least) {
        std::vector<Item> found;
        std::ranges::copy_if(items, std::back_inserter(found),
                             [&](const Item& item) { return count_matches(item, words) >= least; });
        return found;
    };
    std::vector<Item> all = with(words.size());
    return all.empty() && words.size() > 1 ? with(1) : all;
}

// The first paragraph, or the first sentences of a long one.
std::string summary_of(std::string_view description) {
    constexpr std::size_t kLongest = 200;
    std::string paragraph(description.substr(0, description.find("\n\n")));
    std::ranges::replace(paragraph, '\n', ' ');
    if (paragraph.size() <= kLongest) {
        return paragraph;
    }
    const std::size_t end = paragraph.rfind(". ", kLongest);
    return end != std::string::npos ? paragraph.substr(0, end + 1)
                                    : std::string(utf8_beginning(paragraph, kLongest)) + "...";
}

ToolOutcome show(const std::vector<Item>& items, const std::string& query,
                 std::string_view detail) {
    json::array results;
    std::string text;
    for (const Item& item : items) {
        if (results.size() == kMostResults) {
            text += fmt::format("[{} more; use other words]\n", items.size() - kMostResults);
            break;
        }
        const std::string qualified = item.module.empty() ? "" : item.module + ".";
        json::object result{
            {"kind", item.kind}, {"name", item.name}, {"signature", item.signature}};
        text += fmt::format("{} {}{}", item.kind, qualified, item.signature);
        if (!item.module.empty()) {
            result["module"] = item.module;
        }
        if (detail != "names") {
            const std::string told =
                detail == "full" ? item.description : summary_of(item.description);
            result["description"] = told;
            text += ": " + told;
        }
        text += '\n';
        results.push_back(std::move(result));
    }
    return {.text = text.empty() ? "Nothing fits. An empty query lists everything." : text,
            .structured = json::object{
                {"query", query}, {"results", std::move(results)}, {"total", items.size()}}};
}

}  // namespace

ToolDefinition define_search_tools(const engine::SandboxInfo& /*info*/) {
    constexpr std::string_view kTitle = "Find tools and modules";
    return {.name = "search_tools",
            .title = std::string(kTitle),
            .description = fmt::format(
                "Finds, by words, functions of the approved modules that programs can import here "
                "(from tools import ...) and the tools of this server, with their signatures. Use "
                "it instead of guessing names, and to load only what you need: detail: \"names\" "
                "is shortest, \"full\" gives whole descriptions. At most {} results come back; "
                "total says how many fit. Example: {{\"query\": \"search logs\"}}",
                kMostResults),
            .input_schema = schema_from(kInput),
            .output_schema = schema_from(kOutput),
            .annotations = annotations_for(kTitle, Effect::Nothing),
            .icon = icon_of(Symbol::Search)};
}

Task<Result<ToolOutcome>> search_tools(ToolContext context, ToolCall call,
                                       engine::CancellationPtr cancellation) {
    const std::string query = text_of(call.arguments, "query");
    const std::string detail = text_of(call.arguments, "detail");
    BJ_CO_TRY(const ScriptEnd end,
              co_await run_script(context, std::move(call), {.program = "python/catalogue.py"},
                                  std::move(cancellation)));
    std::vector<Item> items;
    if (end.value) {
        add_functions(*end.value, items);
    }
    add_tools(context.executor->info(), items);
    co_return show(matching(std::move(items), query), query, detail);
}

}  // namespace belljar::mcp
