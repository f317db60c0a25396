#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "base/id.h"
#include "base/utf8.h"
#include "crypto/digest.h"
#include "engine/code_reader.h"
#include "engine/engine.h"
#include "engine/first_reading.h"
#include "engine/grade.h"
#include "engine/masking.h"
#include "engine/scan_words.h"
#include "policy/plain_program.h"
#include "policy/validation.h"

// What an engine decides about a request before anything of it runs.
namespace belljar::engine {
namespace {

using execution::Finding;
using execution::RunPlan;
using execution::RunRequest;
using execution::RunResult;
using execution::ScanAction;

Result<void> check_request(const runner::Manifest& manifest, const RunRequest& request) {
    if (manifest.has_launcher() && request.allowed_imports) {
        return fail(
            ErrorCode::InvalidArgument,
            fmt::format("\"allowed_imports\" cannot be checked in {} programs", manifest.language));
    }
    return {};
}

// The text that is read with the program: modules that it brings along.
std::vector<std::string> sources_in(const RunRequest& request, std::string_view language) {
    constexpr std::size_t kMost = 64;
    const std::vector<std::string_view> endings =
        language == "python" ? std::vector<std::string_view>{".py"}
                             : std::vector<std::string_view>{".js", ".cjs", ".mjs", ".ts"};
    std::vector<std::string> sources;
    for (const auto& [path, content] : request.files) {
        const auto ends = [&path](std::string_view ending) { return path.ends_with(ending); };
        if (sources.size() < kMost && std::ranges::any_of(endings, ends)) {
            sources.push_back(make_valid_utf8(content));
        }
    }
    return sources;
}

bool has(const std::vector<Finding>& findings, ScanAction action) {
    return std::ranges::find(findings, action, &Finding::action) != findings.end();
}

// A cell's interpreter has run others before.
bool reads_itself(const runner::Manifest& manifest, const RunRequest& request) {
    return manifest.has_reader && !request.session && !request.session_id;
}

// What comes along is read with the program.
bool has_nothing_to_find(const runner::Manifest& manifest, const policy::Profile& profile,
                         const RunRequest& request) {
    return manifest.runner == "cpython" && request.files.empty() &&
           policy::is_plain_python(request.code, profile.warn_builtins);
}

// Nor need the guest watch over the imports of such a program if it has none. A cell may call what
// an earlier one defined, and a debugger takes its orders from elsewhere.
bool imports_nothing(const RunRequest& plain) {
    const auto has = [&plain](std::string_view word) { return plain.code.contains(word); };
    return !has("import") && !has("breakpoint") && !plain.session && !plain.session_id;
}

bool is_approved(const Approvals& approvals, const policy::Profile& profile, const RunPlan& plan) {
    return plan.request.approved_by ||
           (policy::may_ask(profile) && approvals.approver_of(crypto::sha256_hex(plan.request.code),
                                                              std::chrono::system_clock::now()));
}

}  // namespace

Engine::Rules Engine::own_rules(const policy::Policy& policy) {
    Result<Rules> rules = policy::Rulebook::create({.maximum = policy.maximum}, {});
    BJ_ASSERT(rules.has_value());
    return *rules;
}

void Engine::use(Rules rules) {
    rules_ = std::move(rules);
    news_ = {.since = std::chrono::system_clock::now()};
}

void Engine::refuse_rules(std::string problem) {
    notice({.kind = "policy",
            .name = "reload_failed",
            .severity = execution::Severity::High,
            .time = std::chrono::system_clock::now(),
            .text = "the policy that is written now is not valid; the one in force stays",
            .details = {{"reason", problem.substr(0, 1000)}, {"in_force", rules_->version()}}});
    news_.problem = std::move(problem);
}

Result<void> Engine::approve(Approval approval) {
    log_.info("a program was approved",
              {{"code_sha256", approval.code_sha256}, {"approver", approval.approver}});
    return approvals_.add(std::move(approval), std::chrono::system_clock::now());
}

void Engine::notice_refusal(const RunRequest& request, const Error& error) const {
    if (error.code == ErrorCode::Denied) {
        notice({.kind = "policy",
                .name = "refused",
                .severity = execution::Severity::Low,
                .time = std::chrono::system_clock::now(),
                .principal = request.principal,
                .conversation_id = request.conversation_id,
                .text = error.message});
    }
}

void Engine::notice_findings(const RunPlan& plan, const std::vector<Finding>& findings) const {
    for (const Finding& finding : findings) {
        if (finding.action >= ScanAction::Ask) {
            notice(scan_event(plan, finding));
        }
    }
}

Task<Result<LanguagePtr>> Engine::language_for(RunRequest* request) {
    const bool in_session = request->session || request->session_id;
    if (in_session && !sessions_) {
        co_return fail(ErrorCode::Unsupported, "sessions are not kept here; leave \"session\" out");
    }
    if (in_session) {
        BJ_CO_TRY(request->language, sessions_->language_of(*request));
        BJ_CO_TRY(request->conversation_id, sessions_->conversation_of(*request));
    } else if (request->conversation_id && !conversations_) {
        co_return fail(ErrorCode::Unsupported,
                       "\"conversation_id\": files that outlive a run are not kept here");
    }
    load_languages();
    tools_.load();
    const LanguagePtr language = languages_.find(request->language);
    if (language == nullptr) {
        co_return fail(ErrorCode::Unsupported,
                       fmt::format("unknown language \"{}\"; usable here: {}",
                                   request->language.substr(0, 64), languages_.usable_names()));
    }
    // Who runs one program finds out by running it; a service tries a language once, before.
    if (trial_ != Trial::NotRequired || !language->usable()) {
        BJ_CO_TRY_VOID(co_await languages_.await_usable(language));
    }
    co_return language;
}

Result<const policy::Profile*> Engine::profile_for(const Rules& rules, const RunRequest& request) {
    return rules->choose(
        {.principal = request.principal,
         .profile = principals_ != nullptr ? principals_->limits_of(request.principal).profile
                                           : std::nullopt,
         .tool_sets = request.tool_sets},
        request.profile);
}

Result<void> Engine::admit(const RunRequest& request) const {
    for (Overseer* overseer : options_.overseers) {
        BJ_TRY_VOID(overseer->admit(request));
    }
    return {};
}

Task<Result<Engine::Decision>> Engine::decide(RunRequest request, Intent intent) {
    BJ_CO_TRY_VOID(admit(request));
    // Other rules may come into force while this waits for something.
    const Rules rules = rules_;
    const Result<const policy::Profile*> profile = profile_for(rules, request);
    if (!profile) {
        if (intent == Intent::Run) {
            notice_refusal(request, profile.error());
        }
        co_return fail(profile.error());
    }
    BJ_CO_TRY(LanguagePtr language, co_await language_for(&request));
    RunRequest asker{.principal = request.principal, .conversation_id = request.conversation_id};
    const bool scans = policy::scans(**profile) && request.author == execution::Author::Caller;
    Result<Decision> decision =
        co_await decide_under(rules, *profile, std::move(language), std::move(request));
    if (!decision) {
        if (intent == Intent::Run) {
            notice_refusal(asker, decision.error());
        }
        co_return decision;
    }
    if (scans && has_nothing_to_find(*decision->manifest, **profile, decision->plan.request)) {
        if (imports_nothing(decision->plan.request)) {
            decision->plan.request.profile_imports = nullptr;
        }
        co_return decision;
    }
    if (scans && intent == Intent::Run &&
        reads_itself(*decision->manifest, decision->plan.request)) {
        decision->reading = std::make_shared<FirstReading>(
            rules, **profile, is_approved(approvals_, **profile, decision->plan));
        decision->plan.request.reading = decision->reading->order();
        if (zygotes_) {
            zygotes_->expect_readings(*decision->manifest);
        }
    } else if (scans) {
        BJ_CO_TRY_VOID(co_await scan(*profile, &*decision, intent));
    }
    co_return decision;
}

Task<Result<Engine::Decision>> Engine::decide_under(Rules rules, const policy::Profile* profile,
                                                    LanguagePtr language, RunRequest request) {
    Decision decision{.manifest = language->manifest};
    const std::string& name = decision.manifest->language;
    BJ_CO_TRY_VOID(check_request(*decision.manifest, request));
    if (request.author == execution::Author::Caller) {
        BJ_CO_TRY_VOID(policy::check_profile(*profile, request, name));
    }
    BJ_CO_TRY_VOID(check_floor(options_.isolation, profile->isolation));
    const policy::Policy usual = policy::with_defaults(options_.policy, decision.manifest->limits);
    BJ_CO_TRY(decision.plan, policy::decide(policy::within(usual, *profile), std::move(request)));
    policy::apply_profile(*rules, *profile, name, decision.plan);
    decision.plan.privacy = join(std::move(decision.plan.privacy), options_.privacy);
    BJ_CO_TRY_VOID(privacy::parse_types(decision.plan.privacy.mask));
    co_return decision;
}

Task<Result<policy::Reading>> Engine::read_code(const RunRequest* request, std::string language) {
    if (!policy::is_readable(language)) {
        co_return policy::unreadable(fmt::format("{} programs cannot be read", language));
    }
    BJ_CO_TRY(RunRequest reading, reading_request({.code = request->code,
                                                   .language = language,
                                                   .more = sources_in(*request, language),
                                                   .principal = request->principal}));
    const LanguagePtr reader = languages_.find(reading.language);
    if (reader == nullptr) {
        co_return policy::unreadable("its interpreter is not here");
    }
    BJ_CO_TRY_VOID(co_await languages_.await_usable(reader));
    RunPlan plan{
        .execution_id = make_uuid(),
        .limits = policy::with_defaults(options_.policy, reader->manifest->limits).defaults};
    plan.limits.timeout = *reading.timeout;
    plan.request = std::move(reading);
    const auto cancellation = std::make_shared<Cancellation>();
    BJ_CO_TRY(const Admission::Ticket ticket,
              co_await admission_.enter(request->principal, Clock::now() + options_.queue_time,
                                        cancellation));
    BJ_CO_TRY(const RunResult result,
              co_await run_in_jar(std::move(plan), reader->manifest, cancellation, LiveStreams{}));
    co_return reading_of(result);
}

Task<Result<void>> Engine::scan(const policy::Profile* profile, Decision* decision, Intent intent) {
    RunPlan& plan = decision->plan;
    BJ_CO_TRY(const policy::Reading reading,
              co_await read_code(&plan.request, decision->manifest->language));
    plan.findings = policy::judge(*profile, reading);
    if (intent == Intent::Run) {
        notice_findings(plan, plan.findings);
    }
    if (has(plan.findings, ScanAction::Refuse)) {
        co_return fail(scan_refusal(plan, plan.findings));
    }
    if (has(plan.findings, ScanAction::Ask) && !plan.request.approved_by) {
        plan.request.approved_by = approvals_.approver_of(crypto::sha256_hex(plan.request.code),
                                                          std::chrono::system_clock::now());
        decision->asks = !plan.request.approved_by;
    }
    if (decision->asks && intent == Intent::Run) {
        co_return fail(scan_question(plan, plan.findings));
    }
    co_return Result<void>{};
}

Task<Result<RunPreview>> Engine::preview(RunRequest request) {
    BJ_CO_TRY_VOID(co_await await_trial());
    BJ_CO_TRY(Decision decision, co_await decide(std::move(request), Intent::Look));
    co_return RunPreview{.language = decision.manifest->language,
                         .runner = decision.manifest->runner,
                         .limits = decision.plan.limits,
                         .capped = std::move(decision.plan.capped),
                         .isolation = options_.isolation,
                         .profile = std::move(decision.plan.profile),
                         .policy_version = std::move(decision.plan.policy_version),
                         .findings = std::move(decision.plan.findings),
                         .asks = decision.asks};
}

void Engine::add_profiles(SandboxInfo& info) const {
    info.default_profile = rules_->default_profile();
    for (const auto& [name, profile] : rules_->profiles()) {
        info.profiles.push_back({.name = name,
                                 .modules = profile.added,
                                 .controls_imports = policy::controls_imports(profile),
                                 .enabled = name != "network"});
    }
}

}  // namespace belljar::engine
