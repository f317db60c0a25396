#include "policy/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace belljar::policy {
namespace {

using execution::ScanAction;
using execution::Severity;

bool lists(const Imports& imports, std::string_view name, char separator) {
    return imports.reach == Imports::Reach::Everything ||
           std::ranges::any_of(imports.modules, [&](std::string_view module) {
               return name == module || (name.starts_with(module) &&
                                         name.substr(module.size()).starts_with(separator));
           });
}

template <typename Test>
bool any_action(const Profile& profile, Test test) {
    return std::ranges::any_of(profile.scan.by_severity, test) ||
           std::ranges::any_of(profile.scan.by_rule,
                               [&test](const auto& entry) { return test(entry.second); });
}

}  // namespace

bool controls_imports(const Profile& profile) {
    return profile.python.reach == Imports::Reach::Listed ||
           profile.javascript.reach == Imports::Reach::Listed;
}

bool allows_python(const Profile& profile, std::string_view module) {
    return lists(profile.python, module, '.');
}

bool allows_javascript(const Profile& profile, std::string_view specifier) {
    constexpr auto kApproved =
        std::to_array<std::string_view>({"/servers/", "/skills/", "/tools/", "/workspace/"});
    const auto is_there = [specifier](std::string_view place) {
        return specifier.starts_with(place) && !specifier.contains("/../");
    };
    if (specifier.starts_with('.') || std::ranges::any_of(kApproved, is_there)) {
        return true;
    }
    if (specifier.starts_with("node:")) {
        specifier.remove_prefix(5);
    }
    return lists(profile.javascript, specifier, '/');
}

ScanAction action_for(const Profile& profile, std::string_view rule, Severity severity) {
    const auto found = profile.scan.by_rule.find(rule);
    return found != profile.scan.by_rule.end()
               ? found->second
               : profile.scan.by_severity.at(static_cast<std::size_t>(severity));
}

bool scans(const Profile& profile) {
    return any_action(profile, [](ScanAction action) { return action != ScanAction::Note; });
}

bool may_ask(const Profile& profile) {
    return any_action(profile, [](ScanAction action) { return action == ScanAction::Ask; });
}

std::string_view name_of(Network network) { return network == Network::Allowed ? "allow" : "deny"; }

std::string in_words(const Names& names) {
    return names ? fmt::format("{}", fmt::join(*names, ", ")) : "all";
}

}  // namespace belljar::policy
