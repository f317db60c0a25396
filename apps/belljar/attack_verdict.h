#pragma once

#include <string>
#include <vector>

#include "attack_catalog.h"

namespace belljar::apps {

enum class Verdict {
    Held,
    Broken,
    KnownGap,       // it succeeded, and the isolation names the layer that is missing
    NotApplicable,  // nothing of what it attacks exists
};

// What came of one attack.
struct Finding {
    const Attack* attack = nullptr;  // of the catalogue, which outlives this
    Verdict verdict = Verdict::Broken;
    std::string seen{};
    Duration wall{};
};

// What is wrong with the runs of a trial: how they ended, what the attack says of itself, and what
// its judge says. Empty if the jar held.
[[nodiscard]] std::vector<std::string> find_faults(const Attack& attack, const Trial& trial);

// Every byte that the runs have put out, as JSON.
[[nodiscard]] std::string everything_said(const Trial& trial);

// What speaks against the jar.
struct Evidence {
    std::vector<std::string> faults{};  // of the runs
    std::vector<std::string> damage{};  // done to the host
};

// A fault is a known gap if the attack needs a layer that is `missing`. Damage never is.
[[nodiscard]] Finding conclude(const Attack& attack, const Trial& trial, const Evidence& evidence,
                               const std::vector<std::string>& missing);

}  // namespace belljar::apps
