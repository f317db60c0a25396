#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace belljar::apps {

// Weak: jars work, but hold less than they could. Bad: no jar, or less than the operator requires.
// Info: a fact that alone changes nothing.
enum class Health { Good, Weak, Bad, Info };

[[nodiscard]] std::string_view name_of(Health health);

// One line of the report.
struct Check {
    std::string name{};
    Health health = Health::Good;
    std::string found{};
    std::string fix{};  // one line to paste or to do; empty if nothing is to be done
};

struct CheckGroup {
    std::string name{};
    std::vector<Check> checks{};
};

}  // namespace belljar::apps
