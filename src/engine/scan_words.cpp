#include "engine/scan_words.h"

#include <fmt/format.h>

#include "crypto/digest.h"
#include "policy/reading.h"

namespace belljar::engine {
namespace {

using execution::Finding;
using execution::RunPlan;
using execution::ScanAction;

std::string sentences(const std::vector<Finding>& findings, ScanAction action) {
    constexpr std::size_t kShown = 5;
    std::string text;
    std::size_t count = 0;
    for (const Finding& finding : findings) {
        if (finding.action == action && count++ < kShown) {
            text += fmt::format("{}{} ({})", text.empty() ? "" : "; ", policy::in_words(finding),
                                finding.rule);
        }
    }
    return count > kShown ? fmt::format("{}; and {} more", text, count - kShown) : text;
}

}  // namespace

Error scan_refusal(const RunPlan& plan, const std::vector<Finding>& findings) {
    return {.code = ErrorCode::Denied,
            .message = fmt::format("refused by policy (profile {}): {}", plan.profile,
                                   sentences(findings, ScanAction::Refuse))};
}

Error scan_question(const RunPlan& plan, const std::vector<Finding>& findings) {
    return {.code = ErrorCode::Denied,
            .message = fmt::format(
                "policy (profile {}) wants a person to agree before this program runs: {}. "
                "execute_code asks the user of an MCP client that can be asked (elicitation); "
                "otherwise an operator approves it with POST /v1/policy/approvals "
                "{{\"code_sha256\": \"{}\"}}",
                plan.profile, sentences(findings, ScanAction::Ask),
                crypto::sha256_hex(plan.request.code))};
}

execution::SecurityEvent scan_event(const RunPlan& plan, const Finding& finding) {
    return {.kind = "scan",
            .name = finding.rule,
            .severity = finding.severity,
            .time = std::chrono::system_clock::now(),
            .principal = plan.request.principal,
            .conversation_id = plan.request.conversation_id,
            .text = policy::in_words(finding),
            .details = {{"action", std::string(execution::name_of(finding.action))},
                        {"profile", plan.profile},
                        {"language", plan.request.language},
                        {"code_sha256", crypto::sha256_hex(plan.request.code)}}};
}

}  // namespace belljar::engine
