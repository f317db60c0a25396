#include "policy/decision.h"

#include <gtest/gtest.h>

#include <cmath>

namespace belljar::policy {
namespace {

using execution::RunPlan;
using execution::RunRequest;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

Policy default_policy() { return policy_from(config::LimitSettings{}); }

Result<RunPlan> decide_with(RunRequest request) {
    return decide(default_policy(), std::move(request));
}

TEST(PolicyDecision, GivesTheDefaultsToARequestThatAsksForNothing) {
    const RunPlan plan = decide_with({.code = "1"}).value();
    EXPECT_EQ(plan.request.code, "1");
    EXPECT_EQ(plan.limits.timeout, seconds(30));
    EXPECT_EQ(plan.limits.memory, mebibytes(256));
    EXPECT_EQ(plan.limits.cpu, 0.5);
    EXPECT_EQ(plan.limits.processes, 64U);
    EXPECT_EQ(plan.limits.output, mebibytes(1));
    EXPECT_EQ(plan.limits.output_file, mebibytes(64));
    EXPECT_EQ(plan.limits.output_flood, mebibytes(64));
    EXPECT_EQ(plan.limits.tmp, mebibytes(64));
    EXPECT_EQ(plan.limits.workspace, gibibytes(1));
}

TEST(PolicyDecision, KeepsEverythingElseOfTheRequest) {
    const RunPlan plan = decide_with({.code = "c",
                                      .language = "py",
                                      .stdin_text = "in",
                                      .arguments = {"a"},
                                      .environment = {{"K", "v"}},
                                      .files = {{"f", "x"}}})
                             .value();
    EXPECT_EQ(plan.request.language, "py");
    EXPECT_EQ(plan.request.stdin_text, "in");
    EXPECT_EQ(plan.request.arguments, std::vector<std::string>{"a"});
    EXPECT_EQ(plan.request.environment.at("K"), "v");
    EXPECT_EQ(plan.request.files.at("f"), "x");
}

TEST(PolicyDecision, AllowsTimeoutsUpToTheMaximum) {
    for (const Duration timeout : {Duration(milliseconds(1)), Duration(seconds(30)),
                                   Duration(seconds(31)), Duration(seconds(300))}) {
        EXPECT_EQ(decide_with({.timeout = timeout}).value().limits.timeout, timeout);
    }
}

TEST(PolicyDecision, RefusesTimeoutsThatMakeNoSenseInWords) {
    for (const Duration timeout :
         {Duration(0), Duration(1), Duration(milliseconds(1)) - nanoseconds(1),
          Duration(seconds(-1)), Duration(seconds(86'400)) + nanoseconds(1), Duration::max(),
          Duration::min()}) {
        const Result<RunPlan> plan = decide_with({.timeout = timeout});
        ASSERT_FALSE(plan) << timeout.count();
        EXPECT_EQ(plan.error().code, ErrorCode::InvalidArgument);
        EXPECT_EQ(plan.error().message,
                  "\"timeout\" must be between 0.001 and 86400 seconds; here a run gets at most "
                  "300");
    }
}

TEST(PolicyDecision, LowersWhatIsBeyondTheMaximumAndSaysSo) {
    const RunPlan plan = decide_with({.timeout = seconds(600),
                                      .memory = gibibytes(8),
                                      .cpu = 16.0,
                                      .processes = 1000,
                                      .output = mebibytes(100)})
                             .value();
    EXPECT_EQ(plan.limits.timeout, seconds(300));
    EXPECT_EQ(plan.limits.memory, gibibytes(4));
    EXPECT_EQ(plan.limits.cpu, 2.0);
    EXPECT_EQ(plan.limits.processes, 256U);
    EXPECT_EQ(plan.limits.output, mebibytes(8));
    const std::vector<execution::CappedLimit> expected{
        {.argument = "timeout", .asked = "600", .given = "300"},
        {.argument = "memory_limit", .asked = "\"8g\"", .given = "\"4g\""},
        {.argument = "cpu", .asked = "16", .given = "2"},
        {.argument = "processes", .asked = "1000", .given = "256"},
        {.argument = "max_output", .asked = "\"100m\"", .given = "\"8m\""}};
    EXPECT_EQ(plan.capped, expected);
}

TEST(PolicyDecision, GivesWhatIsAskedWithinTheMaximum) {
    const RunPlan plan = decide_with({.cpu = 0.25, .processes = 7, .output = Bytes{100}}).value();
    EXPECT_EQ(plan.limits.cpu, 0.25);
    EXPECT_EQ(plan.limits.processes, 7U);
    EXPECT_EQ(plan.limits.output, Bytes{100});
    EXPECT_TRUE(plan.capped.empty());
}

TEST(PolicyDecision, RefusesOtherLimitsThatMakeNoSense) {
    for (const double cpu : {0.0, -1.0, 0.001, 1025.0, std::nan(""), 1e308}) {
        EXPECT_FALSE(decide_with({.cpu = cpu})) << cpu;
    }
    for (const std::uint64_t processes : {0ULL, 32'769ULL, ~0ULL}) {
        EXPECT_FALSE(decide_with({.processes = processes})) << processes;
    }
    for (const Bytes output : {Bytes{0}, Bytes{gibibytes(1).count + 1}, Bytes{UINT64_MAX}}) {
        EXPECT_FALSE(decide_with({.output = output})) << output.count;
    }
}

TEST(PolicyDecision, AllowsMemoryBetweenTheSmallestAndTheMaximum) {
    for (const Bytes memory : {mebibytes(16), mebibytes(256), mebibytes(257), gibibytes(4)}) {
        EXPECT_EQ(decide_with({.memory = memory}).value().limits.memory, memory);
    }
}

TEST(PolicyDecision, RefusesOtherMemoryInWords) {
    for (const Bytes memory : {Bytes{0}, Bytes{1}, Bytes{mebibytes(16).count - 1},
                               Bytes{gibibytes(16 * 1024).count + 1}, Bytes{UINT64_MAX}}) {
        const Result<RunPlan> plan = decide_with({.memory = memory});
        ASSERT_FALSE(plan) << memory.count;
        EXPECT_EQ(plan.error().code, ErrorCode::InvalidArgument);
        EXPECT_NE(plan.error().message.find("16m"), std::string::npos);
        EXPECT_NE(plan.error().message.find("4g"), std::string::npos);
    }
}

TEST(PolicyDecision, BoundsTheCode) {
    const std::size_t limit = mebibytes(1).count;
    EXPECT_TRUE(decide_with({.code = std::string(limit, 'x')}));
    const Result<RunPlan> plan = decide_with({.code = std::string(limit + 1, 'x')});
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, ErrorCode::TooLarge);
    EXPECT_NE(plan.error().message.find("1048577"), std::string::npos);
    EXPECT_NE(plan.error().message.find("1048576"), std::string::npos);
    EXPECT_TRUE(decide_with({.code = ""}));
}

TEST(PolicyDecision, IsPure) {
    const RunRequest request{.code = "1", .timeout = seconds(2)};
    const RunPlan first = decide_with(request).value();
    const RunPlan second = decide_with(request).value();
    EXPECT_EQ(first.limits.timeout, second.limits.timeout);
    EXPECT_EQ(first.request.code, second.request.code);
}

TEST(PolicyFrom, TakesEveryLimitOfTheOperator) {
    const config::LimitSettings settings{.timeout = seconds(1),
                                         .max_timeout = seconds(2),
                                         .memory = mebibytes(32),
                                         .max_memory = mebibytes(64),
                                         .cpu = 2.0,
                                         .max_cpu = 1.0,
                                         .processes = 5,
                                         .output = kibibytes(1),
                                         .output_file = kibibytes(3),
                                         .output_flood = kibibytes(2),
                                         .tmp = mebibytes(3),
                                         .workspace = mebibytes(4),
                                         .code = Bytes{10}};
    const Policy policy = policy_from(settings);
    const RunPlan plan = decide(policy, {.code = "0123456789"}).value();
    EXPECT_EQ(plan.limits.timeout, seconds(1));
    EXPECT_EQ(plan.limits.memory, mebibytes(32));
    EXPECT_EQ(plan.limits.cpu, 2.0);
    EXPECT_EQ(plan.limits.processes, 5U);
    EXPECT_EQ(plan.limits.output, kibibytes(1));
    EXPECT_EQ(plan.limits.output_file, kibibytes(3));
    EXPECT_EQ(plan.limits.output_flood, kibibytes(2));
    EXPECT_EQ(plan.limits.tmp, mebibytes(3));
    EXPECT_EQ(plan.limits.workspace, mebibytes(4));
    EXPECT_TRUE(decide(policy, {.timeout = seconds(2), .memory = mebibytes(64)}));
    EXPECT_EQ(decide(policy, {.timeout = seconds(3)}).value().limits.timeout, seconds(2));
    EXPECT_EQ(decide(policy, {.memory = mebibytes(65)}).value().limits.memory, mebibytes(64));
    EXPECT_EQ(decide(policy, {.cpu = 3.0}).value().limits.cpu, 2.0) << "not below the default";
    EXPECT_EQ(decide(policy, {.output = mebibytes(1)}).value().limits.output, kibibytes(2));
    EXPECT_FALSE(decide(policy, {.code = "0123456789a"}));
}

TEST(PolicyDecision, ALanguageChoosesItsDefaultsWithinTheMaximum) {
    Policy policy = policy_from({});
    policy.maximum.memory = gibibytes(1);
    const Policy chosen = with_defaults(policy, {.timeout = std::chrono::seconds(90),
                                                 .memory = gibibytes(8),
                                                 .processes = policy.maximum.processes + 1});
    EXPECT_EQ(chosen.defaults.timeout, Duration(std::chrono::seconds(90)));
    EXPECT_EQ(chosen.defaults.memory, gibibytes(1));
    EXPECT_EQ(chosen.defaults.processes, policy.maximum.processes);
    EXPECT_EQ(chosen.defaults.tmp, policy.defaults.tmp) << "no opinion";
    EXPECT_EQ(chosen.maximum, policy.maximum);
}

TEST(PolicyWithin, AProfileLowersLimitsAndRaisesNone) {
    const Policy usual = policy_from(config::LimitSettings{});
    Profile profile{.name = "small"};
    profile.limits = {.timeout = seconds(5), .memory = mebibytes(64), .processes = 4};
    const Policy policy = within(usual, profile);
    const RunPlan plan = decide(policy, {.code = "1", .timeout = seconds(60)}).value();
    EXPECT_EQ(plan.limits.timeout, seconds(5));
    EXPECT_EQ(plan.limits.memory, mebibytes(64));
    EXPECT_EQ(plan.limits.processes, 4U);
    ASSERT_EQ(plan.capped.size(), 1U);
    EXPECT_EQ(plan.capped[0].given, "5");
    EXPECT_EQ(within(usual, Profile{}).maximum, usual.maximum);
}

TEST(PolicyProfile, RefusesWhatItDoesNotAllowInWords) {
    Profile profile{.name = "basic", .python = {.reach = Imports::Reach::Listed}};
    EXPECT_TRUE(check_profile(profile, {}, "python"));
    EXPECT_EQ(check_profile(profile, {}, "bash").error().message,
              "the profile basic controls imports, which cannot be checked in bash programs; use "
              "python, javascript or typescript");
    profile.languages = Names({"python"});
    EXPECT_EQ(check_profile(profile, {}, "bash").error().message,
              "the profile basic does not allow bash; it allows python");
    const Result<void> denied = check_profile(profile, {.network = true}, "python");
    EXPECT_EQ(denied.error().code, ErrorCode::Unsupported);
    EXPECT_TRUE(denied.error().message.contains("the profile basic denies it"));
    profile.network = Network::Allowed;
    EXPECT_TRUE(check_profile(profile, {.network = true}, "python")
                    .error()
                    .message.contains("would allow it"));
}

TEST(PolicyProfile, IsWrittenIntoThePlan) {
    const auto rules = Rulebook::create({.maximum = policy_from({}).maximum}, {}).value();
    RunPlan plan;
    apply_profile(*rules, **rules->find("basic"), "python", plan);
    EXPECT_EQ(plan.profile, "basic");
    EXPECT_EQ(plan.policy_version, rules->version());
    EXPECT_EQ(plan.tool_sets, (*rules->find("basic"))->tool_sets);
    ASSERT_TRUE(plan.request.profile_imports);
    EXPECT_EQ(plan.request.profile_imports->modules.size(), 41U);
    RunPlan ours{.request = {.author = execution::Author::Belljar}};
    apply_profile(*rules, **rules->find("basic"), "python", ours);
    EXPECT_FALSE(ours.request.profile_imports);
}

}  // namespace
}  // namespace belljar::policy
