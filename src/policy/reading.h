#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "execution/governance.h"
#include "policy/profile.h"
#include "policy/scan_rules.h"

namespace belljar::policy {

// Something at a line of a program, from 1.
struct Spot {
    std::int64_t line = 0;
    std::string text{};
};

// A rule that the reader found to apply. Of what it found only a name is told.
struct Suspicion {
    const ScanRule* rule = nullptr;
    std::int64_t line = 0;
    std::string subject{};
};

// What a reader in a jar tells of a program (guest/python/validate.py, guest/node/validate.cjs),
// made safe: it is as hostile as the program that was read.
struct Reading {
    std::optional<Spot> problem{};  // why it is no program
    std::vector<Spot> imports{};
    std::vector<Suspicion> suspicions{};
    std::vector<std::string> functions{};
    std::vector<std::string> classes{};
    std::int64_t branches = 0;
    bool whole = true;  // whether the reader came to its end
};

[[nodiscard]] Reading parse_reading(const json::value& answer);
// Of a reader that gave no answer, with the reason.
[[nodiscard]] Reading unreadable(std::string reason);

// How the interpreter in a run's own jar reads a program under the profile. `approved`: a person
// has agreed to what it would have to be asked about.
[[nodiscard]] execution::ReadingOrder reading_order(const Profile& profile, bool approved);

// What the profile makes of it: one finding for each rule and line, the gravest first.
[[nodiscard]] std::vector<execution::Finding> judge(const Profile& profile, const Reading& reading);

// "Line 3: ..."
[[nodiscard]] std::string at_line(std::int64_t line, std::string_view text);
[[nodiscard]] std::string in_words(const execution::Finding& finding);

}  // namespace belljar::policy
