#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "config/settings.h"
#include "execution/limits.h"
#include "execution/request.h"
#include "policy/policy_file.h"
#include "policy/profile.h"

namespace belljar::policy {

// The rules in force: every profile, and who has which. Never changes; other rules are another
// book, which takes the place of this one as a whole.
class Rulebook {
   public:
    // What the rules stand on: a profile allows no more than the operator does.
    struct Grounds {
        execution::Limits maximum{};
        config::PolicySettings settings{};
    };

    // InvalidArgument with everything that is wrong, one problem per line.
    static Result<std::shared_ptr<const Rulebook>> create(const Grounds& grounds,
                                                          const std::vector<PolicyText>& files);

    // SHA-256 of all rules; the same rules have the same, however their files are written.
    [[nodiscard]] const std::string& version() const { return version_; }
    [[nodiscard]] const std::string& default_profile() const { return default_; }
    // By name.
    [[nodiscard]] const std::map<std::string, Profile, std::less<>>& profiles() const {
        return profiles_;
    }
    // InvalidArgument with the names there are.
    [[nodiscard]] Result<const Profile*> find(std::string_view name) const;

    // Who asks, and what is known of it.
    struct Caller {
        std::string principal{};
        std::optional<std::string> profile{};  // of its token
        std::vector<std::string> tool_sets{};
    };
    // The profile that the caller has: by a rule for its name, by its token, by a rule for its tool
    // sets, or that of all others. Denied if what it should have is not there.
    [[nodiscard]] Result<const Profile*> profile_of(const Caller& caller) const;
    // The one it asks for, if that is the same or a narrower one; Denied with the reason if not.
    [[nodiscard]] Result<const Profile*> choose(const Caller& caller,
                                                const std::optional<std::string>& asked) const;

    // The modules that a program may import under the profile, for plans; nullptr: all.
    [[nodiscard]] std::shared_ptr<const execution::ImportRules> import_rules(
        const Profile& profile, std::string_view language) const;

    [[nodiscard]] json::object to_json() const;

   private:
    struct Rules {
        std::shared_ptr<const execution::ImportRules> python{};
        std::shared_ptr<const execution::ImportRules> javascript{};
    };

    [[nodiscard]] Result<const Profile*> profile_of_sets(
        const std::vector<std::string>& tool_sets) const;
    [[nodiscard]] std::vector<std::string_view> narrower_than(const Profile& held) const;
    void finish();

    std::map<std::string, Profile, std::less<>> profiles_;
    std::map<std::string, Rules, std::less<>> rules_;
    std::map<std::string, std::string, std::less<>> principals_;
    std::map<std::string, std::string, std::less<>> tool_sets_;
    std::string default_;
    std::string version_;
};

[[nodiscard]] json::object to_json(const Profile& profile);

}  // namespace belljar::policy
