#pragma once

#include <string_view>
#include <vector>

#include "execution/raw_exit.h"
#include "execution/result.h"

namespace belljar::outcome {

inline constexpr std::string_view kNetworkHint =
    "Network is off for this run: ask for it with network=true where that is allowed, pass the "
    "data in as stdin or files, or use a tool.";

// What the calls that the kernel refused amount to: one denial for each kind of attempt, with how
// often it was made. Calls that a C library tries as a matter of course are left out.
[[nodiscard]] std::vector<execution::Denial> explain_refused_calls(
    const std::vector<execution::DeniedCall>& calls);

}  // namespace belljar::outcome
