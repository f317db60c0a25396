#pragma once

#include <string>

#include "audit/line.h"
#include "audit/redaction.h"
#include "base/result.h"
#include "execution/governance.h"
#include "execution/result.h"
#include "execution/run_account.h"

// What is recorded of what happens. Never what a program was given beside its text (arguments,
// environment, input, files) nor what it wrote.
namespace belljar::audit {

// Of a run, or of one that was refused ("kind" is "run" or "refusal").
[[nodiscard]] Entry entry_of(const execution::RunAccount& account,
                             const Result<execution::RunResult>& result,
                             const Redaction& redaction);

[[nodiscard]] Entry entry_of(const execution::SecurityEvent& event, const Redaction& redaction);

// What somebody has decided or was refused beside runs: a token that was made, a session that was
// ended, a request without the right to make it.
struct Decision {
    std::string kind = "decision";
    std::string what{};     // the operation: "createToken"
    std::string target{};   // its path: "/v1/admin/tokens"
    std::string outcome{};  // "done", "refused", "failed"
    int status = 0;         // of HTTP; 0: it did not come by it
    std::string principal{};
    std::string client{};
    std::string address{};
    std::string text{};
    std::uint64_t left_out = 0;  // such decisions before, for which there is no record
};
[[nodiscard]] Entry entry_of(const Decision& decision, const Redaction& redaction);

}  // namespace belljar::audit
