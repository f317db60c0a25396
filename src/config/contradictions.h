#pragma once

#include "config/draft.h"

namespace belljar::config {

// Checks values that are each allowed against one another. A default that exceeds its maximum is
// lowered to it; a chosen value that does is a problem, because one of the two is a mistake.
void resolve_contradictions(Draft& draft);

}  // namespace belljar::config
