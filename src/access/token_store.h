#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace belljar::access {

struct StoredToken {
    std::string token{};
    bool created = false;  // by this call, so this is the one time to show it
};

// The token in `directory`/token, readable by its owner only; made at the first call.
[[nodiscard]] Result<StoredToken> load_or_create_token(const Fd& directory);

}  // namespace belljar::access
