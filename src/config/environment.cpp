#include "config/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "config/spelling.h"

namespace belljar::config {
namespace {

constexpr std::string_view kPrefix = "BELLJAR_";
constexpr std::string_view kTestPrefix = "BELLJAR_TEST_";
// Read by others: the path of the configuration file, and of the program for its own tests.
constexpr std::array<std::string_view, 3> kReserved{"BELLJAR_CONFIG", "BELLJAR_BINARY",
                                                    "BELLJAR_TOKEN"};

Origin origin_of(std::string_view name) {
    return Origin{.source = Origin::Source::Environment, .name = std::string(name)};
}

// The value in the key's own units.
std::string convert(const Key& key, const std::string& text) {
    const bool is_plain_number = text.find_first_not_of("0123456789") == std::string::npos;
    return key.alias_unit == AliasUnit::Mebibytes && is_plain_number ? text + "m" : text;
}

void apply_aliases_of(const Key& key, const Environment& environment, Draft& draft) {
    Environment::const_iterator first = environment.end();
    for (const std::string_view alias : aliases_of(key)) {
        const auto found = environment.find(std::string(alias));
        if (found == environment.end() || found->second.empty()) {
            continue;
        }
        if (first == environment.end()) {
            first = found;
        } else if (first->second != found->second) {
            draft.add_problem(
                fmt::format("environment: {} and {} both set {}, to different values; keep one",
                            first->first, found->first, key.name));
        }
    }
    if (first != environment.end()) {
        draft.set(key, RawValue{.text = convert(key, first->second)}, origin_of(first->first));
    }
}

bool is_ours_to_know(std::string_view name) {
    return name.starts_with(kPrefix) && !name.starts_with(kTestPrefix) &&
           std::ranges::find(kReserved, name) == kReserved.end();
}

}  // namespace

Environment copy_environment(const char* const* variables) {
    Environment environment;
    for (; variables != nullptr && *variables != nullptr; ++variables) {
        const std::string_view variable(*variables);
        const std::size_t equals = variable.find('=');
        if (equals != std::string_view::npos) {
            environment.emplace(variable.substr(0, equals), variable.substr(equals + 1));
        }
    }
    return environment;
}

void apply_aliases(const Environment& environment, Draft& draft) {
    for (const Key& key : all_keys()) {
        apply_aliases_of(key, environment, draft);
    }
}

void apply_variables(const Environment& environment, Draft& draft) {
    std::set<std::string> known;
    for (const Key& key : all_keys()) {
        const std::string name = variable_name(key);
        known.insert(name);
        const auto found = environment.find(name);
        if (found != environment.end() && !found->second.empty()) {
            draft.set(key, RawValue{.text = found->second}, origin_of(name));
        }
    }
    for (const auto& [name, value] : environment) {
        if (is_ours_to_know(name) && !known.contains(name)) {
            draft.add_problem(draft.problems().full() ? "" : unknown_variable(name));
        }
    }
}

}  // namespace belljar::config
