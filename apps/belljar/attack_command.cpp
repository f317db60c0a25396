#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "attack_catalog.h"
#include "attack_outside.h"
#include "attack_report.h"
#include "attack_suite.h"
#include "commands.h"
#include "runtime.h"

namespace belljar::apps {
namespace {

// Two jars at once, and room for one more.
constexpr std::uint32_t kFewestConcurrentRuns = 3;

Result<std::vector<const Attack*>> select(const std::vector<Attack>& catalog,
                                          const std::vector<std::string>& only) {
    std::vector<const Attack*> selected;
    for (const std::string& name : only) {
        if (std::ranges::find(catalog, name, &Attack::name) == catalog.end()) {
            return fail(ErrorCode::NotFound,
                        fmt::format("there is no attack \"{}\"; `belljar attack --list` names them",
                                    name.substr(0, 64)));
        }
    }
    for (const Attack& attack : catalog) {
        if (only.empty() || std::ranges::find(only, attack.name) != only.end()) {
            selected.push_back(&attack);
        }
    }
    return selected;
}

config::Settings prepare_settings(const config::Settings& settings, const std::string& secret) {
    config::Settings prepared = settings;
    // Whatever the floor is: what holds is to be found out.
    prepared.isolation.require = config::IsolationFloor::Basic;
    prepared.limits.concurrent_runs =
        std::max(prepared.limits.concurrent_runs, kFewestConcurrentRuns);
    // Where a server keeps its secrets.
    prepared.auth.token = secret;
    prepared.files.secret = secret;
    return prepared;
}

// What attacks may need and do not find here: layers, and the mode that gives a jar most.
std::vector<std::string> list_missing(const AttackReport& report) {
    std::vector<std::string> missing = report.isolation.missing;
    if (report.mode != "root") {
        missing.emplace_back("root");
    }
    return missing;
}

void show_progress(const Finding& finding, std::size_t number, std::size_t count) {
    fmt::print(stderr, "{:>3}/{} {:<24} {:<9} {:6.2f} s\n", number, count, finding.attack->name,
               name_of(finding.verdict), to_seconds(finding.wall));
}

Result<AttackReport> attack_installation(const config::Settings& settings,
                                         const std::vector<const Attack*>& attacks) {
    const std::string secret = Outside::plant_secret();
    BJ_TRY(std::unique_ptr<Runtime> runtime,
           Runtime::create(prepare_settings(settings, secret), LogLevel::Error));
    AttackReport report{.version = BELLJAR_VERSION,
                        .mode = runtime->isolation().mode,
                        .isolation = runtime->isolation()};
    BJ_TRY_VOID(runtime->drop_privileges());
    BJ_TRY(const std::unique_ptr<Outside> outside, Outside::create(secret));
    AttackSuite suite(*runtime, *outside, list_missing(report));
    const auto keep = [&report, &attacks](Finding finding) {
        report.findings.push_back(std::move(finding));
        show_progress(report.findings.back(), report.findings.size(), attacks.size());
    };
    BJ_TRY_VOID(runtime->run(suite.run(attacks, keep), [&suite] { suite.stop(); }));
    return report;
}

}  // namespace

namespace {

int attack_once(const config::Settings& settings, const std::vector<const Attack*>& attacks,
                OutputForm form) {
    const Result<AttackReport> report = attack_installation(settings, attacks);
    if (!report) {
        complain(report.error());
        return kExitFault;
    }
    fmt::print("{}", form == OutputForm::Json ? render_json(*report) : render_text(*report));
    return report->broken() ? kExitFailed : 0;
}

// Each in a process of its own, for it gives its privileges up. A mode that cannot be had here says
// so and counts for nothing, unless that is all of them.
int attack_in_every_mode(const config::Settings& settings,
                         const std::vector<const Attack*>& attacks, OutputForm form) {
    int worst = kExitFault;
    for (const config::LaunchMode mode :
         {config::LaunchMode::Root, config::LaunchMode::Rootless, config::LaunchMode::Nested}) {
        const pid_t child = ::fork();
        if (child == 0) {
            config::Settings chosen = settings;
            chosen.isolation.mode = mode;
            std::exit(attack_once(chosen, attacks, form));
        }
        int status = 0;
        if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
            return kExitFault;
        }
        const int code = WEXITSTATUS(status);
        worst = code == kExitFault ? worst : worst == kExitFailed ? worst : code;
    }
    return worst;
}

}  // namespace

int attack(const config::Loaded& loaded, const AttackOptions& options) {
    const Result<std::vector<Attack>> catalog = read_attack_catalog();
    if (!catalog) {
        complain(catalog.error());
        return kExitFault;
    }
    const Result<std::vector<const Attack*>> attacks = select(*catalog, options.only);
    if (!attacks) {
        complain(attacks.error());
        return kExitUsage;
    }
    const bool json = options.form == OutputForm::Json;
    if (options.deed == AttackOptions::Deed::List) {
        fmt::print("{}", json ? render_json(*attacks) : render_text(*attacks));
        return 0;
    }
    return options.modes == AttackOptions::Modes::Every
               ? attack_in_every_mode(loaded.settings, *attacks, options.form)
               : attack_once(loaded.settings, *attacks, options.form);
}

}  // namespace belljar::apps
