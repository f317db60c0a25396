#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "execution/request.h"
#include "execution/result.h"

namespace belljar::runner {

// What the guest's bootstrap program is told: JSON, see guest/python/bootstrap.py. It says that it
// is ready for it with a line break, the first byte of its report.
[[nodiscard]] std::string encode_guest_request(const execution::RunRequest& request);

// Reads what the bootstrap program reported into result, result_repr, variables and error. The text
// comes from inside the jar and may be anything; what does not fit is left out, and nothing in it
// touches the verdict.
void apply_guest_report(std::string_view report, execution::RunResult& result);

}  // namespace belljar::runner
