#include "attack_suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>

#include "attack_posture.h"
#include "attack_processes.h"
#include "attack_verdict.h"
#include "base/id.h"
#include "base/json.h"
#include "outcome/result_json.h"

namespace belljar::apps {
namespace {

using execution::RunRequest;

constexpr Duration kTimeToGo = std::chrono::seconds(5);
constexpr Duration kPause = std::chrono::milliseconds(10);

}  // namespace

void AttackSuite::stop() {
    stopped_ = true;
    for (const engine::CancellationPtr& cancellation : std::exchange(running_, {})) {
        cancellation->request();
    }
}

Task<Result<void>> AttackSuite::run(std::vector<const Attack*> attacks,
                                    std::function<void(Finding)> on_finding) {
    for (const Attack* attack : attacks) {
        Finding finding = co_await try_attack(attack);
        if (stopped_) {
            co_return fail(ErrorCode::Cancelled, "stopped before every attack was tried");
        }
        on_finding(std::move(finding));
    }
    co_return Result<void>{};
}

Task<Finding> AttackSuite::try_attack(const Attack* attack) {
    if (!attack->not_applicable.empty()) {
        co_return Finding{.attack = attack,
                          .verdict = Verdict::NotApplicable,
                          .seen = "not applicable: " + attack->not_applicable};
    }
    const TimePoint start = Clock::now();
    const Trial trial = co_await stage(attack);
    Evidence evidence{.faults = find_faults(*attack, trial),
                      .damage = outside_.find_damage(everything_said(trial))};
    std::string left = co_await await_quiet();
    if (!left.empty()) {
        evidence.damage.push_back(std::move(left));
    }
    Finding finding = conclude(*attack, trial, evidence, missing_);
    finding.wall = Clock::now() - start;
    co_return finding;
}

Task<Trial> AttackSuite::stage(const Attack* attack) {
    Trial trial{.token = random_hex(8)};
    trial.limits = runtime_.engine().info().default_limits;
    const execution::Limits maximum = runtime_.engine().info().maximum_limits;
    trial.limits.timeout = std::min(attack->conduct.timeout, maximum.timeout);
    trial.limits.memory = std::min(attack->conduct.memory, maximum.memory);
    const std::uint64_t before = own_memory("VmHWM");
    switch (attack->conduct.staging) {
        case Staging::Alone:
            co_await run_alone(attack, &trial);
            break;
        case Staging::InTurn:
            co_await run_in_turn(attack, &trial);
            break;
        case Staging::Pair:
            co_await run_pair(attack, &trial);
            break;
        case Staging::Watched:
            co_await run_watched(attack, &trial);
            break;
        case Staging::Crowded:
            co_await run_crowded(attack, &trial);
            break;
    }
    trial.memory_growth = growth_since(before, own_memory("VmHWM"));
    co_return trial;
}

Task<void> AttackSuite::run_alone(const Attack* attack, Trial* trial) {
    Run run = co_await run_guest(attack, trial, "first", nullptr);
    trial->runs.push_back(std::move(run));
}

Task<void> AttackSuite::run_in_turn(const Attack* attack, Trial* trial) {
    for (const char* role : {"first", "second"}) {
        Rendezvous rendezvous(1, [this, trial] {
            trial->users.push_back(find_guest_user(outside_.list_jar_processes()));
        });
        Run run = co_await run_guest(attack, trial, role, &rendezvous);
        trial->runs.push_back(std::move(run));
    }
}

Task<void> AttackSuite::run_pair(const Attack* attack, Trial* trial) {
    using asio::experimental::awaitable_operators::operator&&;
    Rendezvous rendezvous(2, [] {});
    auto [first, second] = co_await (run_guest(attack, trial, "first", &rendezvous) &&
                                     run_guest(attack, trial, "second", &rendezvous));
    trial->runs.push_back(std::move(first));
    trial->runs.push_back(std::move(second));
}

Task<void> AttackSuite::run_watched(const Attack* attack, Trial* trial) {
    Rendezvous rendezvous(1, [this, trial] {
        trial->posture = examine_posture(outside_.list_jar_processes(), runtime_.isolation());
    });
    Run run = co_await run_guest(attack, trial, "first", &rendezvous);
    trial->runs.push_back(std::move(run));
}

Task<void> AttackSuite::run_crowded(const Attack* attack, Trial* trial) {
    using asio::experimental::awaitable_operators::operator&&;
    auto [run, beside] = co_await (run_guest(attack, trial, "first", nullptr) && run_neighbour());
    trial->runs.push_back(std::move(run));
    trial->beside.push_back(std::move(beside));
}

RunRequest AttackSuite::make_request(const Attack& attack, const Trial& trial,
                                     std::string_view role) const {
    json::object told = outside_.told();
    const std::vector<std::string>& missing = runtime_.isolation().missing;
    told["missing"] = json::array(missing.begin(), missing.end());
    told["limits"] = outcome::to_json(trial.limits);
    told["role"] = role;
    told["token"] = trial.token;
    RunRequest request{.code = attack.program,
                       .timeout = trial.limits.timeout,
                       .memory = trial.limits.memory,
                       .arguments = {to_text(told)}};
    for (auto& [name, content] : attack_support_files()) {
        request.files.emplace(name, content);
    }
    if (attack.conduct.upload == Upload::Hostile) {
        request.files.emplace("../../x-" + trial.token, "out");
    }
    return request;
}

Task<AttackSuite::Run> AttackSuite::run_guest(const Attack* attack, const Trial* trial,
                                              std::string role, Rendezvous* rendezvous) {
    engine::LiveStreams live;
    if (rendezvous != nullptr) {
        BJ_CO_TRY(live, rendezvous->join());
    }
    const auto cancellation = std::make_shared<engine::Cancellation>();
    running_.push_back(cancellation);
    Run run = co_await runtime_.engine().execute_live(make_request(*attack, *trial, role),
                                                      cancellation, std::move(live));
    std::erase(running_, cancellation);
    if (rendezvous != nullptr) {
        rendezvous->give_up();
    }
    co_return run;
}

Task<AttackSuite::Run> AttackSuite::run_neighbour() {
    RunRequest request{.code = "sum(number * number for number in range(100000))"};
    const auto cancellation = std::make_shared<engine::Cancellation>();
    running_.push_back(cancellation);
    Run run = co_await runtime_.engine().execute(std::move(request), cancellation);
    std::erase(running_, cancellation);
    co_return run;
}

Task<std::string> AttackSuite::await_quiet() {
    const TimePoint deadline = Clock::now() + kTimeToGo;
    std::vector<ProcessEntry> left = outside_.list_jar_processes();
    asio::steady_timer timer(runtime_.io());
    while (!left.empty() && Clock::now() < deadline) {
        timer.expires_after(kPause);
        boost::system::error_code ignored;
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        left = outside_.list_jar_processes();
    }
    co_return left.empty() ? "" : fmt::format("left behind: {}", left.front().name);
}

}  // namespace belljar::apps
