#include "doctor_layers.h"

#include <algorithm>
#include <array>

namespace belljar::apps {
namespace {

struct ExplainedLayer {
    std::string_view layer;
    std::string_view check;
    std::string_view fix;  // if the check itself found nothing wrong
};

constexpr std::string_view kBecomeRoot =
    "start belljar as root (sudo belljar ...), or see \"user namespaces\"";
constexpr std::string_view kDelegate =
    "start belljar in a cgroup of its own: systemd-run --scope -p Delegate=yes belljar ...";
constexpr std::string_view kUpdate = "this kernel has what it takes; update belljar";

constexpr std::array<ExplainedLayer, 10> kLayers{{
    {"namespaces", "namespaces", kBecomeRoot},
    {"unique_user", "user ids", kBecomeRoot},
    {"no_capabilities", "capabilities", kBecomeRoot},
    {"read_only_root", "mount api", kBecomeRoot},
    {"memory_limit", "memory limit", kDelegate},
    {"process_limit", "process limit", kDelegate},
    {"cpu_share", "cpu share", kDelegate},
    {"seccomp", "seccomp", kUpdate},
    {"landlock", "landlock", kUpdate},
    {"disk_quota", "workspace limit", kBecomeRoot},
}};

const ExplainedLayer* find_layer(std::string_view layer) {
    const auto* found = std::ranges::find(kLayers, layer, &ExplainedLayer::layer);
    return found == kLayers.end() ? nullptr : found;
}

void weaken(Check& check, const ExplainedLayer& layer) {
    check.health = Health::Weak;
    check.found += "; but jars do not have it";
    check.fix = check.fix.empty() ? std::string(layer.fix) : std::move(check.fix);
}

}  // namespace

std::string_view check_of_layer(std::string_view layer) {
    const ExplainedLayer* known = find_layer(layer);
    return known == nullptr ? std::string_view{} : known->check;
}

void weaken_missing_layers(const std::vector<std::string>& missing,
                           std::vector<CheckGroup>& groups) {
    for (const std::string& name : missing) {
        const ExplainedLayer* layer = find_layer(name);
        for (CheckGroup& group : groups) {
            const auto check = std::ranges::find_if(group.checks, [layer](const Check& one) {
                return layer != nullptr && one.name == layer->check &&
                       (one.health == Health::Good || one.health == Health::Info);
            });
            if (check != group.checks.end()) {
                weaken(*check, *layer);
            }
        }
    }
}

}  // namespace belljar::apps
