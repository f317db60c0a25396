#pragma once

#include <map>
#include <string>

#include "config/draft.h"

namespace belljar::config {

// Names and values; a variable that is set to nothing counts as not set.
using Environment = std::map<std::string, std::string>;

// From the null-terminated list that a program is started with.
[[nodiscard]] Environment copy_environment(const char* const* variables);

// The names of other products and older documents. Two of them that set one key differently are a
// problem, because neither is the stronger.
void apply_aliases(const Environment& environment, Draft& draft);

// BELLJAR_SECTION_KEY. An unknown name with that prefix is a problem.
void apply_variables(const Environment& environment, Draft& draft);

}  // namespace belljar::config
