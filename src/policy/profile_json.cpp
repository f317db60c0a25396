#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "config/choice.h"
#include "policy/rulebook.h"

namespace belljar::policy {
namespace {

json::array texts(const std::vector<std::string>& items) {
    return json::array(items.begin(), items.end());
}

json::array to_json(const Names& names) { return names ? texts(*names) : json::array{"*"}; }

json::array to_json(const Imports& imports) {
    return imports.reach == Imports::Reach::Everything ? json::array{"*"} : texts(imports.modules);
}

json::object to_json(const LimitCaps& limits) {
    json::object object;
    if (limits.timeout) {
        object["timeout_seconds"] = to_seconds(*limits.timeout);
    }
    if (limits.memory) {
        object["memory_bytes"] = limits.memory->count;
    }
    if (limits.cpu) {
        object["cpu"] = *limits.cpu;
    }
    if (limits.processes) {
        object["processes"] = *limits.processes;
    }
    if (limits.output) {
        object["output_bytes"] = limits.output->count;
    }
    if (limits.tmp) {
        object["tmp_bytes"] = limits.tmp->count;
    }
    return object;
}

json::object to_json(const ScanActions& scan) {
    json::object object;
    for (std::size_t index = 0; index < scan.by_severity.size(); ++index) {
        object[execution::name_of(static_cast<execution::Severity>(index))] =
            execution::name_of(scan.by_severity.at(index));
    }
    json::object rules;
    for (const auto& [rule, action] : scan.by_rule) {
        rules[rule] = execution::name_of(action);
    }
    object["rules"] = std::move(rules);
    return object;
}

}  // namespace

json::object to_json(const Profile& profile) {
    return {{"name", profile.name},
            {"description", profile.description},
            {"extends", profile.extends},
            {"built_in", profile.built_in},
            {"imports",
             {{"python", to_json(profile.python)}, {"javascript", to_json(profile.javascript)}}},
            {"languages", to_json(profile.languages)},
            {"network", name_of(profile.network)},
            {"limits", to_json(profile.limits)},
            {"tool_sets", to_json(profile.tool_sets)},
            {"isolation", config::word_for(profile.isolation)},
            {"warn_builtins", texts(profile.warn_builtins)},
            {"scan", to_json(profile.scan)},
            {"privacy", {{"mask", texts(profile.privacy.mask)}}}};
}

}  // namespace belljar::policy
