#include "policy/decision.h"

#include <fmt/format.h>

#include <algorithm>

namespace belljar::policy {
namespace {

// Less than this cannot hold an interpreter.
constexpr Bytes kSmallestMemory = mebibytes(16);
constexpr Duration kShortestTimeout = std::chrono::milliseconds(1);

Result<void> check_code(const Policy& policy, const std::string& code) {
    if (code.size() > policy.code_limit.count) {
        return fail(ErrorCode::TooLarge,
                    fmt::format("the code has {} bytes; at most {} are allowed", code.size(),
                                policy.code_limit.count));
    }
    return {};
}

Result<Duration> allowed_timeout(const Policy& policy, std::optional<Duration> asked) {
    const Duration timeout = asked.value_or(policy.defaults.timeout);
    if (timeout < kShortestTimeout || timeout > policy.maximum.timeout) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("\"timeout\" must be more than 0 and at most {:g} seconds",
                                to_seconds(policy.maximum.timeout)));
    }
    return timeout;
}

Result<Bytes> allowed_memory(const Policy& policy, std::optional<Bytes> asked) {
    const Bytes memory = asked.value_or(policy.defaults.memory);
    if (memory < kSmallestMemory || memory > policy.maximum.memory) {
        return fail(
            ErrorCode::InvalidArgument,
            fmt::format("the memory limit must be between {} and {}", format_bytes(kSmallestMemory),
                        format_bytes(policy.maximum.memory)));
    }
    return memory;
}

}  // namespace

Policy policy_from(const config::LimitSettings& limits) {
    Policy policy;
    policy.defaults = {.timeout = limits.timeout,
                       .memory = limits.memory,
                       .cpu = limits.cpu,
                       .processes = limits.processes,
                       .output = limits.output,
                       .output_file = limits.output_file,
                       .output_flood = limits.output_flood,
                       .tmp = limits.tmp,
                       .workspace = limits.workspace};
    policy.maximum = policy.defaults;
    policy.maximum.timeout = limits.max_timeout;
    policy.maximum.memory = limits.max_memory;
    policy.code_limit = limits.code;
    return policy;
}

Policy with_defaults(Policy policy, const execution::LimitChoices& choices) {
    execution::Limits& limits = policy.defaults;
    const execution::Limits& most = policy.maximum;
    limits.timeout = std::min(choices.timeout.value_or(limits.timeout), most.timeout);
    limits.memory = std::min(choices.memory.value_or(limits.memory), most.memory);
    limits.cpu = std::min(choices.cpu.value_or(limits.cpu), most.cpu);
    limits.processes = std::min(choices.processes.value_or(limits.processes), most.processes);
    limits.tmp = std::min(choices.tmp.value_or(limits.tmp), most.tmp);
    return policy;
}

Result<execution::RunPlan> decide(const Policy& policy, execution::RunRequest request) {
    BJ_TRY_VOID(check_code(policy, request.code));
    execution::RunPlan plan{.limits = policy.defaults};
    BJ_TRY(plan.limits.timeout, allowed_timeout(policy, request.timeout));
    BJ_TRY(plan.limits.memory, allowed_memory(policy, request.memory));
    plan.request = std::move(request);
    return plan;
}

}  // namespace belljar::policy
