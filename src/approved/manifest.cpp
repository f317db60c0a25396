#include "approved/manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/beneath.h"
#include "base/json.h"
#include "config/toml_parser.h"
#include "config/toml_text.h"

namespace belljar::approved {
namespace {

constexpr std::size_t kLongestText = 1000;
constexpr std::size_t kMostNames = 1000;  // in a list
constexpr std::string_view kHexadecimal = "0123456789abcdef";

constexpr auto kKeys =
    std::to_array<std::string_view>({"file", "sha256", "owner", "version", "description",
                                     "principals", "roles", "tool_sets", "needs"});

std::unexpected<Error> refuse(const toml::node& node, std::string_view rule) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("line {}: {}", node.source().begin.line, rule));
}

Result<std::string> text_of(const toml::table& table, std::string_view key, std::size_t least) {
    const toml::node* node = table.get(key);
    if (node == nullptr && least == 0) {
        return std::string();
    }
    const std::string rule = fmt::format("\"{}\" must be a text", key);
    if (node == nullptr || !node->is_string()) {
        return refuse(node == nullptr ? table : *node, rule);
    }
    std::string text = node->as_string()->get();
    if (text.size() < least || text.size() > kLongestText || text.contains('\0')) {
        return refuse(*node, fmt::format("{} of {} to {} bytes", rule, least, kLongestText));
    }
    return text;
}

Result<std::vector<std::string>> names_of(const toml::table& table, std::string_view key) {
    std::vector<std::string> names;
    const toml::node* node = table.get(key);
    if (node == nullptr) {
        return names;
    }
    const std::string rule = fmt::format("\"{}\" must be a list of names", key);
    // A list that is there and empty could mean everybody or nobody.
    if (!node->is_array() || node->as_array()->empty() || node->as_array()->size() > kMostNames) {
        return refuse(*node, rule);
    }
    for (const toml::node& item : *node->as_array()) {
        if (!item.is_string() || item.as_string()->get().size() > kLongestText) {
            return refuse(item, rule);
        }
        names.push_back(item.as_string()->get());
    }
    return names;
}

Result<void> check_keys(const toml::table& table) {
    for (const auto& [key, node] : table) {
        if (std::ranges::find(kKeys, key.str()) == kKeys.end()) {
            return refuse(node, fmt::format("unknown key \"{}\"; allowed are {}",
                                            key.str().substr(0, 64), fmt::join(kKeys, ", ")));
        }
    }
    return {};
}

Result<Approval> read_approval(const toml::table& table) {
    Approval approval;
    BJ_TRY_VOID(check_keys(table));
    BJ_TRY(approval.file, text_of(table, "file", 1));
    if (!is_servable_name(approval.file)) {
        return refuse(table, "\"file\" must be a plain path such as \"log_store.py\"");
    }
    BJ_TRY(approval.sha256, text_of(table, "sha256", 1));
    if (approval.sha256.size() != 64 ||
        approval.sha256.find_first_not_of(kHexadecimal) != std::string::npos) {
        return refuse(table, "\"sha256\" must be 64 digits of lower-case hexadecimal");
    }
    BJ_TRY(approval.owner, text_of(table, "owner", 1));
    BJ_TRY(approval.version, text_of(table, "version", 1));
    BJ_TRY(approval.description, text_of(table, "description", 0));
    BJ_TRY(approval.principals, names_of(table, "principals"));
    BJ_TRY(approval.roles, names_of(table, "roles"));
    BJ_TRY(approval.tool_sets, names_of(table, "tool_sets"));
    BJ_TRY(const std::vector<std::string> needs, names_of(table, "needs"));
    approval.needs_logs = !needs.empty();
    if (std::ranges::any_of(needs, [](const std::string& need) { return need != "logs"; })) {
        return refuse(table, "\"needs\" may have \"logs\" in it and nothing else");
    }
    return approval;
}

bool share_a_name(const std::vector<std::string>& some, const std::vector<std::string>& others) {
    return std::ranges::any_of(some, [&others](const std::string& name) {
        return std::ranges::find(others, name) != others.end();
    });
}

bool is_identifier(std::string_view word) {
    const auto is_letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    const auto is_part = [&is_letter](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
    return !word.empty() && is_letter(word.front()) && std::ranges::all_of(word, is_part);
}

std::string list_text(std::string_view key, const std::vector<std::string>& names) {
    if (names.empty()) {
        return "";
    }
    std::vector<std::string> quoted;
    std::ranges::transform(names, std::back_inserter(quoted),
                           [](const std::string& name) { return to_text(json::value(name)); });
    return fmt::format("{} = [{}]\n", key, fmt::join(quoted, ", "));
}

}  // namespace

std::string module_name(std::string_view file) {
    std::string name(file.ends_with(".py") ? file.substr(0, file.size() - 3) : file);
    std::ranges::replace(name, '/', '.');
    return name.ends_with(".__init__") ? name.substr(0, name.rfind('.')) : name;
}

bool is_servable_name(std::string_view file) {
    if (!is_plain_path(file) || file.starts_with('.') || file.contains("/.")) {
        return false;
    }
    if (!file.ends_with(".py")) {
        return true;
    }
    const std::string name(file.substr(0, file.size() - 3));
    for (std::size_t begin = 0; begin <= name.size();) {
        const std::size_t end = std::min(name.find('/', begin), name.size());
        if (!is_identifier(std::string_view(name).substr(begin, end - begin))) {
            return false;
        }
        begin = end + 1;
    }
    return true;
}

bool may_use(const Approval& approval, const Reader& reader) {
    const bool for_everybody = approval.principals.empty() && approval.roles.empty();
    const bool named =
        std::ranges::find(approval.principals, reader.principal) != approval.principals.end();
    if (!for_everybody && !named && !share_a_name(approval.roles, reader.roles)) {
        return false;
    }
    if (!reader.tool_sets) {
        return true;
    }
    const std::vector<std::string>& sets = *reader.tool_sets;
    return share_a_name(approval.tool_sets, sets) ||
           std::ranges::find(sets, module_name(approval.file)) != sets.end();
}

Result<std::vector<Approval>> parse_manifest(const std::string& file_name, std::string_view text) {
    BJ_TRY(const std::string prepared, config::prepare_toml(text, file_name));
    const toml::parse_result parsed = toml::parse(prepared);
    if (!parsed) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("line {}: {}", parsed.error().source().begin.line,
                                parsed.error().description()));
    }
    const toml::table& table = parsed.table();
    for (const auto& [key, node] : table) {
        if (key.str() != "module" || !node.is_array()) {
            return refuse(node, fmt::format("unknown key \"{}\"; each module has a section "
                                            "[[module]]",
                                            key.str().substr(0, 64)));
        }
    }
    std::vector<Approval> approvals;
    std::set<std::string> seen;
    const toml::array* modules = table["module"].as_array();
    for (std::size_t index = 0; modules != nullptr && index < modules->size(); ++index) {
        const toml::node& node = (*modules)[index];
        if (!node.is_table() || index >= kMostModules) {
            return refuse(node, fmt::format("at most {} sections [[module]]", kMostModules));
        }
        BJ_TRY(Approval approval, read_approval(*node.as_table()));
        // By the name that is imported: deep.py and deep/__init__.py would hide each other.
        if (!seen.insert(module_name(approval.file)).second) {
            return refuse(node, fmt::format("{} is listed twice", approval.file));
        }
        approvals.push_back(std::move(approval));
    }
    return approvals;
}

std::string write_manifest(const std::vector<Approval>& approvals) {
    std::string text;
    for (const Approval& approval : approvals) {
        const auto line = [](std::string_view key, const std::string& value) {
            return fmt::format("{} = {}\n", key, to_text(json::value(value)));
        };
        text += text.empty() ? "[[module]]\n" : "\n[[module]]\n";
        text += line("file", approval.file) + line("sha256", approval.sha256) +
                line("owner", approval.owner) + line("version", approval.version);
        text += approval.description.empty() ? "" : line("description", approval.description);
        text += list_text("principals", approval.principals) + list_text("roles", approval.roles) +
                list_text("tool_sets", approval.tool_sets);
        text += approval.needs_logs ? "needs = [\"logs\"]\n" : "";
    }
    return text;
}

}  // namespace belljar::approved
