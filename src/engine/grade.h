#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/settings.h"
#include "execution/result.h"
#include "jar/spec.h"

namespace belljar::engine {

// What holds for every jar, in words: the grade, and each layer that a jar could have and has not.
[[nodiscard]] execution::Isolation grade_of(std::uint32_t layers, jar::Mode mode);

// Without namespaces a jar has no tree of its own, and nobody forks its guest.
[[nodiscard]] bool is_nested(const execution::Isolation& isolation);

// Every layer that there is, by the names that stand in `missing`.
[[nodiscard]] std::vector<std::string_view> layer_names();

// Denied, naming what is missing, if the grade is below what the operator requires.
[[nodiscard]] Result<void> check_floor(const execution::Isolation& isolation,
                                       config::IsolationFloor floor);

}  // namespace belljar::engine
