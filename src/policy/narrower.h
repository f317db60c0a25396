#pragma once

#include <optional>
#include <string>

#include "policy/profile.h"

namespace belljar::policy {

// Why a profile is not narrower than another or the same: "it allows importing httpx". Nothing if
// it is. Narrower means that in no respect it allows more:
//   imports, languages, tool sets   a subset
//   network                         denied, or allowed in both
//   limits                          each at most as high
//   isolation                       at least as strong
//   scan                            each rule answered at least as strictly
//   privacy                         at least as many types masked
// What is only advice (builtins to warn of) does not count. A partial order: of two profiles, none
// need be the narrower one.
[[nodiscard]] std::optional<std::string> why_wider(const Profile& wanted, const Profile& held);

}  // namespace belljar::policy
