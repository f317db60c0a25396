#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attack_verdict.h"
#include "execution/result.h"

namespace belljar::apps {

// The findings of one suite and the installation they are about.
struct AttackReport {
    std::string version{};
    std::string mode{};  // root, rootless or nested
    execution::Isolation isolation{};
    std::vector<Finding> findings{};

    [[nodiscard]] bool broken() const;
};

[[nodiscard]] std::string_view name_of(Verdict verdict);

[[nodiscard]] std::string render_text(const AttackReport& report);
[[nodiscard]] std::string render_json(const AttackReport& report);
// The attacks themselves, untried.
[[nodiscard]] std::string render_text(const std::vector<const Attack*>& attacks);
[[nodiscard]] std::string render_json(const std::vector<const Attack*>& attacks);

}  // namespace belljar::apps
