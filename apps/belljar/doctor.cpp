#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "commands.h"
#include "doctor_checks.h"
#include "doctor_facts.h"
#include "doctor_layers.h"
#include "doctor_modes.h"
#include "doctor_report.h"
#include "engine/grade.h"
#include "runtime.h"

namespace belljar::apps {
namespace {

Task<Result<void>> try_jar(Runtime* runtime) {
    Result<void> tested = co_await runtime->engine().self_test();
    co_return tested;
}

// The proof of the pudding: a jar is made and a program runs in it.
Check check_jar(const config::Settings& settings, execution::Isolation& isolation) {
    Check check{.name = "trial jar"};
    const auto fail_with = [&check, &isolation](const Error& error) {
        isolation.grade = "none";  // whatever the warden promised, no program ran in it
        check.health = Health::Bad;
        check.found = error.describe();
        check.fix = "see the lines above; the failed step names the missing kernel permission";
        return check;
    };
    // Whatever the floor is: the grade is what is to be found out.
    config::Settings lenient = settings;
    lenient.isolation.require = config::IsolationFloor::Basic;
    Result<std::unique_ptr<Runtime>> runtime = Runtime::create(lenient, LogLevel::Error);
    if (!runtime) {
        return fail_with(runtime.error());
    }
    isolation = (*runtime)->isolation();
    if (const Result<void> dropped = (*runtime)->drop_privileges(); !dropped) {
        return fail_with(dropped.error());
    }
    if (const Result<void> tested = (*runtime)->run(try_jar(runtime->get()), [] {}); !tested) {
        return fail_with(tested.error());
    }
    const engine::SandboxInfo info = (*runtime)->engine().info();
    check.found = fmt::format("Python {} ran in it", info.runners.front().version);
    return check;
}

Check check_grade(const config::Settings& settings, const execution::Isolation& isolation) {
    const Result<void> enough = engine::check_floor(isolation, settings.isolation.require);
    if (enough) {
        return {.name = "floor",
                .found = "the isolation is at least what isolation.require asks for"};
    }
    if (isolation.grade == "none") {
        return {.name = "floor",
                .health = Health::Bad,
                .found = "no program ran in a jar, so there is no isolation",
                .fix = "see \"trial jar\""};
    }
    return {.name = "floor",
            .health = Health::Bad,
            .found = fmt::format("the grade is below isolation.require; missing: {}",
                                 fmt::join(isolation.missing, ", ")),
            .fix = "do what the lines named under \"missing\" say, or lower isolation.require"};
}

int exit_code_of(const DoctorReport& report) {
    const bool bad = std::ranges::any_of(report.groups, [](const CheckGroup& group) {
        return std::ranges::any_of(group.checks,
                                   [](const Check& check) { return check.health == Health::Bad; });
    });
    if (bad) {
        return kExitFailed;
    }
    const std::string& grade = report.isolation.grade;
    return grade == "full" || grade == "standard" ? 0 : kExitBelowStandard;
}

}  // namespace

int examine_host(const config::Loaded& loaded, OutputForm form) {
    const HostFacts facts = gather_facts(loaded.settings);
    const std::vector<LaunchMode> modes = launch_modes(facts);
    DoctorReport report{
        .isolation = {.grade = "none", .tier = "kernel"},
        .mode = chosen_mode(modes),
        .groups = {check_kernel(facts), check_namespaces(facts), check_limits(facts),
                   check_files(facts), check_hardening(facts), check_tools(), check_modes(modes)}};
    // Last, because it gives the privileges up.
    CheckGroup trial{.name = "Trial"};
    trial.checks.push_back(check_jar(loaded.settings, report.isolation));
    trial.checks.push_back(check_grade(loaded.settings, report.isolation));
    report.groups.push_back(std::move(trial));
    weaken_missing_layers(report.isolation.missing, report.groups);
    print_report(report, form);
    return exit_code_of(report);
}

}  // namespace belljar::apps
