#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>
#include <vector>

#include "base/json.h"
#include "commands.h"
#include "engine/grade.h"
#include "isolation/cgroupfs.h"
#include "outcome/result_json.h"
#include "runtime.h"

namespace belljar::apps {
namespace {

enum class Health { Good, Weak, Bad };

struct Check {
    std::string name{};
    Health health = Health::Good;
    std::string found{};
    std::string fix{};  // empty if nothing is to be done
};

std::string_view name_of(Health health) {
    switch (health) {
        case Health::Good:
            return "ok";
        case Health::Weak:
            return "weak";
        case Health::Bad:
            return "bad";
    }
    return "bad";
}

Check check_kernel() {
    utsname host{};
    ::uname(&host);
    const std::string_view release = host.release;
    int major = 0;
    int minor = 0;
    const char* end = release.data() + release.size();
    const auto parsed = std::from_chars(release.data(), end, major);
    std::from_chars(parsed.ptr + 1, end, minor);
    const bool enough = major > 5 || (major == 5 && minor >= 14);
    return {
        .name = "kernel",
        .health = enough ? Health::Good : Health::Bad,
        .found = host.release,
        .fix = enough ? ""
                      : "use Linux 5.14 or later: jars need clone3, mount_setattr and cgroup.kill"};
}

Check check_root() {
    const bool root = ::geteuid() == 0;
    return {
        .name = "privilege",
        .health = root ? Health::Good : Health::Bad,
        .found = root ? "started as root; the server itself runs without privileges" : "not root",
        .fix = root ? "" : "start belljar as root: sudo belljar ..."};
}

Check check_warden() {
    const Result<std::string> warden = engine::find_warden();
    return {.name = "warden",
            .health = warden ? Health::Good : Health::Bad,
            .found = warden ? "belljar-warden found beside belljar" : warden.error().message,
            .fix = warden ? "" : "build or install belljar and belljar-warden together"};
}

Check check_python() {
    const bool there = ::access("/usr/bin/python3", X_OK) == 0;
    return {.name = "python",
            .health = there ? Health::Good : Health::Bad,
            .found = there ? "/usr/bin/python3" : "no /usr/bin/python3",
            .fix = there ? "" : "apt-get install python3"};
}

std::string describe(const std::vector<isolation::Hierarchy>& layout) {
    if (layout.empty()) {
        return "none mounted";
    }
    const auto unified = std::ranges::count_if(layout, &isolation::Hierarchy::unified);
    return unified == 0 ? "v1" : unified == std::ssize(layout) ? "v2" : "hybrid";
}

Check check_cgroups() {
    const std::vector<isolation::Hierarchy> layout = isolation::read_layout();
    const bool there = !layout.empty();
    return {
        .name = "cgroups",
        .health = there ? Health::Good : Health::Weak,
        .found = describe(layout),
        .fix = there ? ""
                     : "mount the cgroup file system, so that memory and processes can be limited"};
}

Task<Result<void>> try_jar(Runtime* runtime) {
    Result<void> tested = co_await runtime->engine().self_test();
    co_return tested;
}

// The proof of the pudding: a jar is made and a program runs in it.
Check check_jar(const config::Settings& settings, execution::Isolation& isolation) {
    Check check{.name = "trial jar"};
    const auto fail_with = [&check](const Error& error) {
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
    return {.name = "floor",
            .health = enough ? Health::Good : Health::Bad,
            .found = enough ? "the isolation is at least what isolation.require asks for"
                            : enough.error().message,
            .fix = enough ? ""
                          : "give belljar cgroups for memory and pids (a systemd unit needs "
                            "Delegate=yes), or lower isolation.require"};
}

json::object to_json(const Check& check) {
    return {{"check", check.name},
            {"status", name_of(check.health)},
            {"found", check.found},
            {"fix", check.fix}};
}

void print_json(const std::vector<Check>& checks, const execution::Isolation& isolation) {
    json::array list;
    for (const Check& check : checks) {
        list.emplace_back(to_json(check));
    }
    fmt::print("{}\n", belljar::to_text(json::object{{"isolation", outcome::to_json(isolation)},
                                                     {"checks", std::move(list)}}));
}

void print_text(const std::vector<Check>& checks, const execution::Isolation& isolation) {
    for (const Check& check : checks) {
        fmt::print("{:<5} {:<10} {}\n", name_of(check.health), check.name, check.found);
        if (!check.fix.empty()) {
            fmt::print("{:<16} fix: {}\n", "", check.fix);
        }
    }
    fmt::print("\nIsolation grade: {}\n", isolation.grade);
    for (const std::string& layer : isolation.missing) {
        fmt::print("  missing: {}\n", layer);
    }
}

}  // namespace

int examine_host(const config::Loaded& loaded, OutputForm form) {
    execution::Isolation isolation{.grade = "none", .tier = "kernel"};
    std::vector<Check> checks{check_kernel(), check_root(), check_warden(), check_python(),
                              check_cgroups()};
    checks.push_back(check_jar(loaded.settings, isolation));
    checks.push_back(check_grade(loaded.settings, isolation));
    if (form == OutputForm::Json) {
        print_json(checks, isolation);
    } else {
        print_text(checks, isolation);
    }
    const bool bad =
        std::ranges::any_of(checks, [](const Check& check) { return check.health == Health::Bad; });
    return bad ? kExitFailed : 0;
}

}  // namespace belljar::apps
