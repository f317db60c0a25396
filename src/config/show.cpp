#include "config/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <type_traits>

#include "config/value.h"

namespace belljar::config {
namespace {

constexpr std::size_t kMaximumColumnWidth = 40;

std::string_view shown_value(const Entry& entry) {
    return entry.text.empty() ? std::string_view("(not set)") : std::string_view(entry.text);
}

// The default as it is written in TOML.
std::string literal_of_default(const Key& key) {
    Settings defaults;
    const auto write = [&](const auto* value) -> std::string {
        using T = std::remove_cvref_t<decltype(*value)>;
        if constexpr (std::same_as<T, std::vector<std::string>>) {
            return fmt::format("[{}]", key.default_text);
        } else if constexpr (std::is_arithmetic_v<T> || std::same_as<T, Switch>) {
            return std::string(key.default_text);
        } else {
            return fmt::format("\"{}\"", key.default_text);
        }
    };
    return std::visit(write, key.slot(defaults));
}

std::string environment_names(const Key& key) {
    std::string names = variable_name(key);
    for (const std::string_view alias : aliases_of(key)) {
        names += fmt::format(", {}", alias);
    }
    return names;
}

}  // namespace

std::string render(const Loaded& loaded) {
    std::size_t key_width = 0;
    std::size_t value_width = 0;
    for (const Entry& entry : loaded.entries) {
        key_width = std::max(key_width, entry.key->name.size());
        value_width = std::max(value_width, shown_value(entry).size());
    }
    value_width = std::min(value_width, kMaximumColumnWidth);
    std::string table;
    for (const Entry& entry : loaded.entries) {
        table += fmt::format("{:<{}}  {:<{}}  {}\n", entry.key->name, key_width, shown_value(entry),
                             value_width, entry.origin.describe());
    }
    return table;
}

std::string render_reference() {
    std::string text =
        "# Belljar configuration: every key with its default. Remove the # before a key to set "
        "it.\n"
        "# Flags win over the environment, the environment over this file.\n";
    std::string_view section;
    for (const Key& key : all_keys()) {
        if (key.section() != section) {
            section = key.section();
            text += fmt::format("\n[{}]\n", section);
        } else {
            text += '\n';
        }
        text += fmt::format("# {}.\n# Allowed: {}.\n# Environment: {}\n#{} = {}\n", key.help,
                            allowed(key), environment_names(key), key.last_name(),
                            literal_of_default(key));
    }
    return text;
}

}  // namespace belljar::config
