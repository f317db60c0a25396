#include "host/landlock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace belljar::host {
namespace {

// linux/landlock.h of Debian 12 has the first only.
constexpr unsigned kAskVersion = 1U << 0U;
constexpr unsigned kAskErrata = 1U << 1U;

struct Feature {
    int abi;  // the first that has it
    std::string_view name;
};

constexpr std::array<Feature, 7> kFeatures{{{1, "files"},
                                            {2, "links and renames"},
                                            {3, "truncation"},
                                            {4, "TCP ports"},
                                            {5, "device ioctls"},
                                            {6, "signals and abstract sockets"},
                                            {7, "audit log"}}};

template <typename Condition>
std::vector<std::string_view> features_where(const Condition& condition) {
    std::vector<std::string_view> names;
    for (const Feature& feature : kFeatures) {
        if (condition(feature)) {
            names.push_back(feature.name);
        }
    }
    return names;
}

int ask(unsigned flag) {
    const long answer = ::syscall(SYS_landlock_create_ruleset, nullptr, 0UL, flag);
    return static_cast<int>(std::max(answer, 0L));
}

}  // namespace

Landlock probe_landlock() { return {.abi = ask(kAskVersion), .errata = ask(kAskErrata)}; }

std::vector<std::string_view> landlock_features(int abi) {
    return features_where([abi](const Feature& feature) { return feature.abi <= abi; });
}

std::vector<std::string_view> landlock_gaps(int abi) {
    return features_where([abi](const Feature& feature) { return feature.abi > abi; });
}

}  // namespace belljar::host
