#include "policy/rulebook.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "config/spelling.h"
#include "crypto/digest.h"
#include "policy/builtin_profiles.h"
#include "policy/narrower.h"
#include "policy/resolve.h"

namespace belljar::policy {
namespace {

using config::Problems;

std::shared_ptr<const execution::ImportRules> rules_of(const Imports& imports) {
    return imports.reach == Imports::Reach::Everything
               ? nullptr
               : std::make_shared<const execution::ImportRules>(
                     execution::ImportRules{.modules = imports.modules});
}

template <typename Map>
std::vector<std::string_view> names_in(const Map& map) {
    std::vector<std::string_view> names;
    for (const auto& entry : map) {
        names.push_back(entry.first);
    }
    return names;
}

// A rule's profile, if there is one of that name.
template <typename Profiles>
bool check_rule(const Profiles& profiles, const RuleDraft& rule, Problems& problems) {
    if (profiles.contains(rule.profile)) {
        return true;
    }
    const std::vector<std::string_view> names = names_in(profiles);
    const auto meant = config::nearest(rule.profile, names);
    problems.add(fmt::format("{}: there is no profile {}{}; the profiles are {}",
                             rule.place.describe(), config::quoted(rule.profile),
                             meant ? fmt::format("; did you mean \"{}\"?", *meant) : "",
                             fmt::join(names, ", ")));
    return false;
}

}  // namespace

Result<std::shared_ptr<const Rulebook>> Rulebook::create(const Grounds& grounds,
                                                         const std::vector<PolicyText>& files) {
    const auto book = std::make_shared<Rulebook>();
    Problems problems;
    PolicyDraft draft;
    for (const PolicyText& file : files) {
        read_policy(file, draft, problems);
    }
    for (Profile& profile : builtin_profiles(grounds.settings.network)) {
        book->profiles_.emplace(profile.name, std::move(profile));
    }
    if (std::optional<Profile> selected = selected_profile(grounds.settings)) {
        book->profiles_.emplace(selected->name, std::move(*selected));
    }
    resolve(draft, grounds.maximum, grounds.settings.network, book->profiles_, problems);
    const RuleDraft otherwise{.profile = default_profile_name(grounds.settings),
                              .place = {.file = "policy.profile"}};
    const RuleDraft& usual = draft.default_profile ? *draft.default_profile : otherwise;
    if (check_rule(book->profiles_, usual, problems)) {
        book->default_ = usual.profile;
    }
    for (const auto& [name, rule] : draft.principals) {
        check_rule(book->profiles_, rule, problems);
        book->principals_.emplace(name, rule.profile);
    }
    for (const auto& [name, rule] : draft.tool_sets) {
        check_rule(book->profiles_, rule, problems);
        book->tool_sets_.emplace(name, rule.profile);
    }
    if (!problems.empty()) {
        return fail(problems.to_error());
    }
    book->finish();
    return std::shared_ptr<const Rulebook>(book);
}

void Rulebook::finish() {
    for (const auto& [name, profile] : profiles_) {
        rules_.emplace(name, Rules{.python = rules_of(profile.python),
                                   .javascript = rules_of(profile.javascript)});
    }
    version_ = crypto::sha256_hex(to_text(to_json()));
}

Result<const Profile*> Rulebook::find(std::string_view name) const {
    const auto found = profiles_.find(name);
    if (found != profiles_.end()) {
        return &found->second;
    }
    return fail(ErrorCode::InvalidArgument,
                fmt::format("\"profile\": there is no such profile; the profiles are {}",
                            fmt::join(names_in(profiles_), ", ")));
}

Result<const Profile*> Rulebook::profile_of_sets(const std::vector<std::string>& tool_sets) const {
    std::set<const Profile*> candidates;
    for (const std::string& name : tool_sets) {
        if (const auto rule = tool_sets_.find(name); rule != tool_sets_.end()) {
            candidates.insert(&profiles_.find(rule->second)->second);
        }
    }
    if (candidates.empty()) {
        return nullptr;
    }
    const auto narrowest = std::ranges::find_if(candidates, [&](const Profile* one) {
        return std::ranges::none_of(candidates, [one](const Profile* other) {
            return why_wider(*one, *other).has_value();
        });
    });
    if (narrowest == candidates.end()) {
        return fail(ErrorCode::Denied,
                    "your tool sets have profiles of which none is narrower than the others; the "
                    "operator must give you one by a rule for your name");
    }
    return *narrowest;
}

Result<const Profile*> Rulebook::profile_of(const Caller& caller) const {
    if (const auto rule = principals_.find(caller.principal); rule != principals_.end()) {
        return &profiles_.find(rule->second)->second;
    }
    if (caller.profile) {
        const auto found = profiles_.find(*caller.profile);
        if (found == profiles_.end()) {
            return fail(ErrorCode::Denied,
                        fmt::format("the profile {} of your token is not defined here; the "
                                    "operator must define it or change the token",
                                    config::quoted(*caller.profile)));
        }
        return &found->second;
    }
    BJ_TRY(const Profile* of_sets, profile_of_sets(caller.tool_sets));
    return of_sets != nullptr ? of_sets : &profiles_.find(default_)->second;
}

std::vector<std::string_view> Rulebook::narrower_than(const Profile& held) const {
    std::vector<std::string_view> names;
    for (const auto& [name, profile] : profiles_) {
        if (!why_wider(profile, held)) {
            names.push_back(name);
        }
    }
    return names;
}

Result<const Profile*> Rulebook::choose(const Caller& caller,
                                        const std::optional<std::string>& asked) const {
    BJ_TRY(const Profile* held, profile_of(caller));
    if (!asked || *asked == held->name) {
        return held;
    }
    BJ_TRY(const Profile* wanted, find(*asked));
    if (const std::optional<std::string> reason = why_wider(*wanted, *held)) {
        return fail(
            ErrorCode::Denied,
            fmt::format("\"profile\": {} is not narrower than {}, which is yours: {}; you "
                        "may ask for {}",
                        wanted->name, held->name, *reason, fmt::join(narrower_than(*held), ", ")));
    }
    return wanted;
}

std::shared_ptr<const execution::ImportRules> Rulebook::import_rules(
    const Profile& profile, std::string_view language) const {
    const auto found = rules_.find(profile.name);
    if (found == rules_.end()) {
        return nullptr;
    }
    return language == "python" ? found->second.python : found->second.javascript;
}

json::object Rulebook::to_json() const {
    json::array profiles;
    for (const auto& entry : profiles_) {
        profiles.push_back(policy::to_json(entry.second));
    }
    const auto rules = [](const auto& map) {
        json::object object;
        for (const auto& [name, profile] : map) {
            object[name] = profile;
        }
        return object;
    };
    return {{"default_profile", default_},
            {"profiles", std::move(profiles)},
            {"principals", rules(principals_)},
            {"tool_sets", rules(tool_sets_)}};
}

}  // namespace belljar::policy
