#include "config/spelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <ranges>
#include <vector>

#include "config/problems.h"
#include "config/schema.h"

namespace belljar::config {
namespace {

constexpr std::size_t kMaximumWordLength = 64;

// Insertions, deletions and replacements that turn `left` into `right` (Levenshtein).
std::size_t distance(std::string_view left, std::string_view right) {
    std::vector<std::size_t> row(right.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < left.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < right.size(); ++j) {
            const std::size_t replaced = diagonal + (left[i] == right[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

// The name without its section: an operator who forgets or mistakes the section still means it.
std::string_view last_name(std::string_view name) {
    const std::size_t dot = name.rfind('.');
    return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

std::optional<std::string_view> nearest_key(std::string_view name) {
    std::vector<std::string_view> in_section;
    std::vector<std::string_view> everywhere;
    for (const Key& key : all_keys()) {
        everywhere.push_back(key.name);
        if (name.starts_with(fmt::format("{}.", key.section()))) {
            in_section.push_back(key.name);
        }
    }
    if (const auto found = nearest(name, in_section)) {
        return found;
    }
    const auto same_last_name = [&](std::string_view known) {
        return last_name(known) == last_name(name);
    };
    const auto moved = std::ranges::find_if(everywhere, same_last_name);
    return moved != everywhere.end() ? std::optional(*moved) : nearest(name, everywhere);
}

std::string suggestion(const std::optional<std::string_view>& meant) {
    return meant ? fmt::format("; did you mean \"{}\"?", *meant) : ".";
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> known) {
    if (word.empty() || word.size() > kMaximumWordLength) {
        return std::nullopt;
    }
    std::optional<std::string_view> best;
    std::size_t best_distance = std::max<std::size_t>(2, word.size() / 4) + 1;
    for (const std::string_view candidate : known) {
        const std::size_t steps = distance(word, candidate);
        if (steps < best_distance) {
            best = candidate;
            best_distance = steps;
        }
    }
    return best;
}

std::string unknown_key(std::string_view name) {
    const std::string_view section = name.substr(0, name.find('.'));
    std::vector<std::string_view> siblings;
    for (const Key& key : all_keys()) {
        if (name.contains('.') && key.section() == section) {
            siblings.push_back(key.last_name());
        }
    }
    const std::string there_is = siblings.empty()
                                     ? fmt::format("Sections: {}", joined(section_names()))
                                     : fmt::format("Keys in [{}]: {}", section, joined(siblings));
    return fmt::format("unknown key {}{} {}", quoted(name), suggestion(nearest_key(name)),
                       there_is);
}

std::string unknown_section(std::string_view name) {
    const std::vector<std::string_view> sections = section_names();
    return fmt::format("unknown section {}{} Sections: {}", quoted(name),
                       suggestion(nearest(name, sections)), joined(sections));
}

std::string unknown_variable(std::string_view name) {
    std::vector<std::string> variables;
    for (const Key& key : all_keys()) {
        variables.push_back(variable_name(key));
    }
    const std::vector<std::string_view> known(variables.begin(), variables.end());
    return fmt::format("environment: unknown variable {}{}", quoted(name),
                       suggestion(nearest(name, known)));
}

}  // namespace belljar::config
