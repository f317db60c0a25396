#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "execution/request.h"
#include "execution/result.h"

namespace belljar::runner {

// What the guest's bootstrap program is told: JSON, see guest/python/bootstrap.py. It says that it
// is ready for it with a line break, the first byte of its report. The mark is a word that nobody
// can guess: a report without it was not written by the bootstrap.
[[nodiscard]] std::string encode_guest_request(const execution::RunRequest& request,
                                               std::string_view mark);

// All that came from the guest on the private channel: a line break, one line of JSON, and the
// bytes of the outputs, whose sizes the line tells. What it found in its program, if the request
// had it read, came on a line ahead of that, which is not part of this.
struct GuestReport {
    std::string_view text{};
    std::string_view mark{};  // that its request carried; empty: none
};

// Reads what the bootstrap program reported into result, result_repr, variables, outputs and error.
// The text comes from inside the jar and may be anything. If it is not exactly one report, nothing
// of it is used and the result says so; an output that is not what it should be is left out and
// counted. Nothing in it touches the verdict.
void apply_guest_report(GuestReport report, execution::RunResult& result);

}  // namespace belljar::runner
