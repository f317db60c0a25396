#include "policy/resolve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "config/duration.h"
#include "config/spelling.h"

namespace belljar::policy {
namespace {

using Profiles = std::map<std::string, Profile, std::less<>>;

void apply(const ImportsDraft& draft, Imports& imports) {
    if (draft.instead) {
        imports = *draft.instead;
    }
    // What is added to everything is in it, and what is taken out of it cannot be listed.
    if (imports.reach == Imports::Reach::Listed) {
        imports.modules.insert(imports.modules.end(), draft.add.begin(), draft.add.end());
        std::ranges::sort(imports.modules);
        const auto repeated = std::ranges::unique(imports.modules);
        imports.modules.erase(repeated.begin(), repeated.end());
        std::erase_if(imports.modules, [&draft](const std::string& module) {
            return std::ranges::find(draft.remove, module) != draft.remove.end();
        });
    }
}

template <typename T>
void replace(T& value, const std::optional<T>& by) {
    if (by) {
        value = *by;
    }
}

template <typename T>
void replace(std::optional<T>& value, const std::optional<T>& by) {
    if (by) {
        value = by;
    }
}

class Resolver {
   public:
    Resolver(const PolicyDraft& draft, const execution::Limits& maximum, config::Switch network,
             Profiles& profiles, config::Problems& problems)
        : draft_(draft),
          maximum_(maximum),
          network_(network),
          profiles_(profiles),
          problems_(problems) {}

    void run() {
        for (const auto& [name, draft] : draft_.profiles) {
            if (profiles_.contains(name)) {
                problems_.add(
                    fmt::format("{}: {} is a profile that every installation has; "
                                "choose another name and extend it",
                                draft.place.describe(), config::quoted(name)));
                return;
            }
        }
        for (const auto& entry : draft_.profiles) {
            resolve(entry.second);
        }
    }

   private:
    // False if it could not be made, which has then been said.
    bool resolve(const ProfileDraft& draft) {
        if (profiles_.contains(draft.name)) {
            return true;
        }
        if (std::ranges::find(under_way_, draft.name) != under_way_.end()) {
            problems_.add(fmt::format("{}: profiles that extend each other in a circle: {} -> {}",
                                      draft.extends_place.describe(), fmt::join(under_way_, " -> "),
                                      draft.name));
            return false;
        }
        if (std::ranges::find(failed_, draft.name) != failed_.end()) {
            return false;
        }
        under_way_.push_back(draft.name);
        const Profile* base = base_of(draft);
        under_way_.pop_back();
        if (base == nullptr) {
            failed_.push_back(draft.name);
            return false;
        }
        Profile profile = complete(draft, *base);
        check(draft, profile);
        profiles_.emplace(draft.name, std::move(profile));
        return true;
    }

    const Profile* base_of(const ProfileDraft& draft) {
        constexpr std::size_t kDeepest = 32;
        const std::string name = draft.extends.value_or("standard");
        if (under_way_.size() > kDeepest) {
            problems_.add(fmt::format("{}: more than {} profiles extend each other",
                                      draft.extends_place.describe(), kDeepest));
            return nullptr;
        }
        if (const auto written = draft_.profiles.find(name);
            written != draft_.profiles.end() && !resolve(written->second)) {
            return nullptr;
        }
        const auto found = profiles_.find(name);
        if (found != profiles_.end()) {
            return &found->second;
        }
        std::vector<std::string_view> names;
        for (const auto& entry : profiles_) {
            names.push_back(entry.first);
        }
        for (const auto& entry : draft_.profiles) {
            names.push_back(entry.first);
        }
        const auto meant = config::nearest(name, names);
        problems_.add(fmt::format("{}: \"profiles.{}.extends\": there is no profile {}{}",
                                  draft.extends_place.describe(), draft.name, config::quoted(name),
                                  meant ? fmt::format("; did you mean \"{}\"?", *meant) : ""));
        return nullptr;
    }

    static Profile complete(const ProfileDraft& draft, const Profile& base) {
        Profile profile = base;
        profile.name = draft.name;
        profile.description = draft.description.value_or("");
        profile.extends = draft.extends.value_or("");
        profile.built_in = false;
        apply(draft.python, profile.python);
        apply(draft.javascript, profile.javascript);
        profile.added = draft.python.instead ? draft.python.instead->modules : draft.python.add;
        replace(profile.languages, draft.languages);
        replace(profile.network, draft.network);
        replace(profile.limits.timeout, draft.limits.timeout);
        replace(profile.limits.memory, draft.limits.memory);
        replace(profile.limits.cpu, draft.limits.cpu);
        replace(profile.limits.processes, draft.limits.processes);
        replace(profile.limits.output, draft.limits.output);
        replace(profile.limits.tmp, draft.limits.tmp);
        replace(profile.tool_sets, draft.tool_sets);
        replace(profile.isolation, draft.isolation);
        replace(profile.warn_builtins, draft.warn_builtins);
        for (const auto& [severity, action] : draft.by_severity) {
            profile.scan.by_severity.at(static_cast<std::size_t>(severity)) = action;
        }
        for (const auto& [rule, action] : draft.by_rule) {
            profile.scan.by_rule[rule] = action;
        }
        replace(profile.privacy.mask, draft.mask);
        return profile;
    }

    template <typename T, typename Show>
    void check_limit(const ProfileDraft& draft, std::string_view key,
                     const std::optional<T>& wanted, T maximum, Show show) {
        if (wanted && *wanted > maximum) {
            problems_.add(fmt::format(
                "{}: \"profiles.{}.limits.{}\": {} is more than the operator allows, which is {}",
                draft.limit_places.at(std::string(key)).describe(), draft.name, key, show(*wanted),
                show(maximum)));
        }
    }

    void check(const ProfileDraft& draft, const Profile& profile) {
        const LimitCaps& limits = draft.limits;
        const auto number = [](auto value) { return fmt::format("{:g}", double(value)); };
        check_limit(draft, "timeout", limits.timeout, maximum_.timeout, config::format_duration);
        check_limit(draft, "memory", limits.memory, maximum_.memory, format_bytes);
        check_limit(draft, "cpu", limits.cpu, maximum_.cpu, number);
        check_limit(draft, "processes", limits.processes, maximum_.processes, number);
        check_limit(draft, "output", limits.output, maximum_.output, format_bytes);
        check_limit(draft, "tmp", limits.tmp, maximum_.tmp, format_bytes);
        if (limits.memory && *limits.memory < mebibytes(16)) {
            problems_.add(fmt::format(
                "{}: \"profiles.{}.limits.memory\": less than 16m cannot hold an interpreter",
                draft.limit_places.at("memory").describe(), draft.name));
        }
        if (draft.network == Network::Allowed && network_ == config::Switch::Off) {
            problems_.add(fmt::format(
                "{}: \"profiles.{}.network\": the operator allows none; policy.network is false",
                draft.place.describe(), profile.name));
        }
    }

    const PolicyDraft& draft_;
    const execution::Limits& maximum_;
    config::Switch network_;
    Profiles& profiles_;
    config::Problems& problems_;
    std::vector<std::string> under_way_;
    std::vector<std::string> failed_;
};

}  // namespace

void resolve(const PolicyDraft& draft, const execution::Limits& maximum, config::Switch network,
             Profiles& profiles, config::Problems& problems) {
    Resolver(draft, maximum, network, profiles, problems).run();
}

}  // namespace belljar::policy
