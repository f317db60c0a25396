#pragma once

#include <string>
#include <string_view>

#include "alerts/rule.h"
#include "base/result.h"

namespace belljar::alerts {

// The usual rules, as the file's sections [rules.NAME] change them or add to them. InvalidArgument
// with the file's name and the line if it cannot be taken whole.
[[nodiscard]] Result<Rules> parse_rules(std::string_view text, const std::string& file_name);

}  // namespace belljar::alerts
