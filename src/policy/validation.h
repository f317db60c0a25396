#pragma once

#include <string>

#include "base/json.h"
#include "policy/profile.h"
#include "policy/reading.h"

namespace belljar::policy {

// A program that somebody wants to know about, and the profile that the answer is for.
struct Question {
    std::string code{};
    std::string language{};
    const Profile* profile = nullptr;
    bool profile_given = true;    // or taken for granted
    std::string usual_profile{};  // under which it would run
};

// What is said of it: {validation, analysis, recommendations, warnings, findings, language,
// profile}. Errors make it invalid: no program, an import that is not allowed, a finding that is
// refused.
[[nodiscard]] json::object validate(const Question& question, const Reading& reading);
// The same for people.
[[nodiscard]] std::string in_words(const json::object& validation);

[[nodiscard]] json::object validation_schema();

// Whether there is a reader for the language.
[[nodiscard]] bool is_readable(std::string_view language);

[[nodiscard]] json::object to_json(const execution::Finding& finding);
[[nodiscard]] json::object finding_schema();

}  // namespace belljar::policy
