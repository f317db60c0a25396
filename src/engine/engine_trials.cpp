#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <string>
#include <utility>

#include "base/id.h"
#include "base/utf8.h"
#include "engine/engine.h"
#include "runner/launch.h"

// How the engine finds out whether jars and languages can be trusted here.
namespace belljar::engine {
namespace {

using execution::RunPlan;
using execution::RunResult;

// The self-test gets at least this, however little programs get.
constexpr Duration kTrialTime = std::chrono::seconds(30);
constexpr Duration kTrialGrace = std::chrono::seconds(30);  // to build the jar
constexpr Bytes kTrialMemory = mebibytes(256);
constexpr double kTrialCpu = 0.25;

std::string failure_of_trial(const runner::Manifest& manifest, const RunResult& result) {
    constexpr std::size_t kShown = 500;
    if (result.error) {
        return fmt::format("the trial run of {} failed: {}", manifest.language,
                           make_valid_utf8(result.error->message.substr(0, kShown)));
    }
    return fmt::format("the trial run of {} ended with status {}: {}", manifest.language,
                       execution::name_of(result.status),
                       make_valid_utf8(result.stderr_stream.text.substr(0, kShown)));
}

}  // namespace

Task<Result<void>> Engine::self_test() {
    load_languages();
    Result<void> tested = co_await test_jars();
    if (tested) {
        co_await tools_.begin(
            [this](approved::Collection collection) { return try_tools(std::move(collection)); },
            [this](const execution::SecurityEvent& event) { notice(event); });
    }
    trial_ = tested ? Trial::Passed : Trial::Failed;
    trial_over_.cancel();
    if (tested) {
        start_zygotes();
        serve_tools();
        prepare_usable();
        serve_languages();
        if (conversations_) {
            tasks_.spawn("sweep conversations", conversations_->sweep(options_.cleanup));
        }
    }
    co_return tested;
}

void Engine::require_self_test() {
    trial_ = Trial::Awaited;
    trial_over_.expires_after(kTrialTime + kTrialGrace);
}

Task<Result<void>> Engine::await_trial() {
    if (trial_ == Trial::Awaited) {
        boost::system::error_code ignored;
        co_await trial_over_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    if (trial_ == Trial::NotRequired || trial_ == Trial::Passed) {
        co_return Result<void>{};
    }
    co_return fail(ErrorCode::Unavailable, "jars have not passed their self-test here");
}

// Not by way of policy: what is tested are jars, and not what may be asked of them.
RunPlan Engine::plan_trial(const runner::Manifest& manifest) const {
    RunPlan plan{.execution_id = make_uuid(),
                 .request = {.code = manifest.self_test,
                             .language = manifest.language,
                             .arguments = options_.isolation.missing},
                 .limits = policy::with_defaults(options_.policy, manifest.limits).defaults};
    plan.limits.cpu = manifest.need == runner::Need::Optional
                          ? std::min(plan.limits.cpu, kTrialCpu)  // runs come first
                          : std::max(plan.limits.cpu, 1.0);       // others wait for it
    plan.limits.timeout = std::max(plan.limits.timeout, kTrialTime);
    plan.limits.memory = std::max(plan.limits.memory, kTrialMemory);
    return plan;
}

Task<Result<RunResult>> Engine::run_trial(runner::ManifestPtr manifest, std::uint32_t zygote) {
    const RunPlan plan = plan_trial(*manifest);
    BJ_CO_TRY(LaunchedJar jar, launch_jar(executor_, warden_, *manifest, plan.limits,
                                          {.zygote = zygote, .tools = common_tools()}));
    Result<RunResult> result = co_await run_once(&plan, manifest.get(), std::move(jar),
                                                 std::make_shared<Cancellation>(), LiveStreams{});
    BJ_CO_TRY_VOID(result);
    if (!result->success()) {
        co_return fail(ErrorCode::Unavailable, failure_of_trial(*manifest, *result));
    }
    co_return result;
}

Task<Result<void>> Engine::test_jar(runner::ManifestPtr manifest, std::uint32_t zygote) {
    BJ_CO_TRY(const RunResult result, co_await run_trial(manifest, zygote));
    if (result.result_repr.value_or("").size() < 2) {
        co_return fail(ErrorCode::Unavailable, failure_of_trial(*manifest, result));
    }
    co_return Result<void>{};
}

Task<Result<std::string>> Engine::try_language(LanguagePtr language) {
    const bool tests_itself = !language->manifest->self_test.empty();
    const runner::ManifestPtr manifest =
        tests_itself ? language->manifest : runner::version_of(language->manifest);
    BJ_CO_TRY(const RunResult result, co_await run_trial(manifest, 0));
    if (manifest->has_launcher()) {
        std::string version = runner::version_in(*manifest, result.stdout_stream.text);
        co_return version.empty() ? runner::version_in(*manifest, result.stderr_stream.text)
                                  : std::move(version);
    }
    const std::string shown = result.result_repr.value_or("");
    if (shown.size() < 2) {
        co_return fail(ErrorCode::Unavailable, failure_of_trial(*manifest, result));
    }
    co_return shown.substr(1, shown.size() - 2);  // without the quotes
}

Task<Result<void>> Engine::test_jars() {
    for (const LanguagePtr& language : languages_.all()) {
        if (language->manifest->need == runner::Need::Required) {
            BJ_CO_TRY(std::string version, co_await try_language(language));
            Languages::set_version(*language, std::move(version));
        }
    }
    co_return Result<void>{};
}

}  // namespace belljar::engine
