#include "policy/decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "policy/validation.h"

namespace belljar::policy {
namespace {

// Less memory than this cannot hold an interpreter. The largest values are those that an operator
// can allow anywhere: who asks for more has made a mistake, which is no reason to guess.
constexpr Bytes kSmallestMemory = mebibytes(16);
constexpr Bytes kLargestMemory = gibibytes(16ULL * 1024);
constexpr Duration kShortestTimeout = std::chrono::milliseconds(1);
constexpr Duration kLongestTimeout = std::chrono::hours(24);
constexpr double kLeastCpu = 0.01;
constexpr double kMostCpu = 1024;
constexpr std::uint64_t kMostProcesses = 32'768;
constexpr Bytes kMostOutput = gibibytes(1);

Result<void> check_code(const Policy& policy, const std::string& code) {
    if (code.size() > policy.code_limit.count) {
        return fail(ErrorCode::TooLarge,
                    fmt::format("the code has {} bytes; at most {} are allowed", code.size(),
                                policy.code_limit.count));
    }
    return {};
}

// How a limit is called and written in a request.
std::string text_of(Duration value) { return fmt::format("{:g}", to_seconds(value)); }
std::string text_of(Bytes value) { return fmt::format("\"{}\"", format_bytes(value)); }
std::string text_of(double value) { return fmt::format("{:g}", value); }
std::string text_of(std::uint64_t value) { return fmt::format("{}", value); }

template <typename T>
struct Range {
    T smallest;
    T largest;
};

// One argument on its way into the plan.
template <typename T>
struct Argument {
    std::string_view name;
    std::string_view unit;
    Range<T> range;
    std::optional<T> asked;
    T usual;
    T maximum;
};

template <typename T>
Result<T> allow(const Argument<T>& argument, std::vector<execution::CappedLimit>& capped) {
    if (!argument.asked) {
        return argument.usual;
    }
    const T& asked = *argument.asked;
    // Written so that what is no number fits nowhere.
    const bool fits = asked >= argument.range.smallest && asked <= argument.range.largest;
    if (!fits) {
        return fail(
            ErrorCode::InvalidArgument,
            fmt::format("\"{}\" must be between {} and {}{}; here a run gets at most {}",
                        argument.name, text_of(argument.range.smallest),
                        text_of(argument.range.largest), argument.unit, text_of(argument.maximum)));
    }
    if (asked <= argument.maximum) {
        return asked;
    }
    capped.push_back({.argument = std::string(argument.name),
                      .asked = text_of(asked),
                      .given = text_of(argument.maximum)});
    return argument.maximum;
}

Result<void> decide_limits(const Policy& policy, const execution::RunRequest& request,
                           execution::RunPlan& plan) {
    const execution::Limits& usual = policy.defaults;
    const execution::Limits& maximum = policy.maximum;
    BJ_TRY(plan.limits.timeout, allow<Duration>({"timeout",
                                                 " seconds",
                                                 {kShortestTimeout, kLongestTimeout},
                                                 request.timeout,
                                                 usual.timeout,
                                                 maximum.timeout},
                                                plan.capped));
    BJ_TRY(plan.limits.memory, allow<Bytes>({"memory_limit",
                                             "",
                                             {kSmallestMemory, kLargestMemory},
                                             request.memory,
                                             usual.memory,
                                             maximum.memory},
                                            plan.capped));
    BJ_TRY(
        plan.limits.cpu,
        allow<double>({"cpu", " cores", {kLeastCpu, kMostCpu}, request.cpu, usual.cpu, maximum.cpu},
                      plan.capped));
    BJ_TRY(const std::uint64_t processes, allow<std::uint64_t>({"processes",
                                                                "",
                                                                {1, kMostProcesses},
                                                                request.processes,
                                                                usual.processes,
                                                                maximum.processes},
                                                               plan.capped));
    plan.limits.processes = static_cast<std::uint32_t>(processes);
    BJ_TRY(plan.limits.output, allow<Bytes>({"max_output",
                                             "",
                                             {Bytes{1}, kMostOutput},
                                             request.output,
                                             usual.output,
                                             maximum.output},
                                            plan.capped));
    return {};
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
    policy.maximum.cpu = std::max(limits.max_cpu, limits.cpu);
    policy.maximum.processes = std::max(limits.max_processes, limits.processes);
    // More would never be there to be shown: the run is ended before.
    policy.maximum.output =
        std::max(std::min(limits.max_output, limits.output_flood), limits.output);
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

Policy within(Policy policy, const Profile& profile) {
    const LimitCaps& caps = profile.limits;
    for (execution::Limits* limits : {&policy.maximum, &policy.defaults}) {
        limits->timeout = std::min(limits->timeout, caps.timeout.value_or(limits->timeout));
        limits->memory = std::min(limits->memory, caps.memory.value_or(limits->memory));
        limits->cpu = std::min(limits->cpu, caps.cpu.value_or(limits->cpu));
        limits->processes = std::min(limits->processes, caps.processes.value_or(limits->processes));
        limits->output = std::min(limits->output, caps.output.value_or(limits->output));
        limits->tmp = std::min(limits->tmp, caps.tmp.value_or(limits->tmp));
    }
    return policy;
}

Result<void> check_profile(const Profile& profile, const execution::RunRequest& request,
                           std::string_view language) {
    if (profile.languages && !std::ranges::binary_search(*profile.languages, language)) {
        return fail(ErrorCode::Denied,
                    fmt::format("the profile {} does not allow {}; it allows {}", profile.name,
                                language, in_words(profile.languages)));
    }
    if (controls_imports(profile) && !is_readable(language)) {
        return fail(ErrorCode::Denied,
                    fmt::format("the profile {} controls imports, which cannot be checked in {} "
                                "programs; use python, javascript or typescript",
                                profile.name, language));
    }
    if (request.network && profile.network == Network::Denied) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("\"network\": programs have no network here; the profile {} "
                                "denies it; leave it out",
                                profile.name));
    }
    if (request.network) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("\"network\": the profile {} would allow it, but programs have no "
                                "network here: this server has no way out for them; leave it out",
                                profile.name));
    }
    return {};
}

void apply_profile(const Rulebook& rules, const Profile& profile, std::string_view language,
                   execution::RunPlan& plan) {
    plan.profile = profile.name;
    plan.policy_version = rules.version();
    plan.privacy = profile.privacy;
    plan.tool_sets = profile.tool_sets;
    if (plan.request.author == execution::Author::Caller) {
        plan.request.profile_imports = rules.import_rules(profile, language);
    }
}

Result<execution::RunPlan> decide(const Policy& policy, execution::RunRequest request) {
    BJ_TRY_VOID(check_code(policy, request.code));
    execution::RunPlan plan{.limits = policy.defaults};
    BJ_TRY_VOID(decide_limits(policy, request, plan));
    plan.request = std::move(request);
    return plan;
}

}  // namespace belljar::policy
