#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/object.hpp>

#include "base/json.h"
#include "base/utf8.h"
#include "commands.h"
#include "engine/code_reader.h"
#include "engine/policy_place.h"
#include "policy/policy_keys.h"
#include "policy/rulebook.h"
#include "policy/scan_rules.h"
#include "policy/validation.h"
#include "runtime.h"

namespace belljar::apps {
namespace {

Result<engine::PolicyPlace::Rules> read_rules(const config::Settings& settings,
                                              const std::string& path) {
    BJ_TRY(const std::vector<policy::PolicyText> files, engine::read_policy_files(path));
    return policy::Rulebook::create(
        {.maximum = policy::policy_from(settings.limits).maximum, .settings = settings.policy},
        files);
}

void print_keys(std::string_view table, std::span<const std::string_view> keys) {
    for (const std::string_view key : keys) {
        fmt::print("{}{}\n", table, key);
    }
}

// Every key that a policy file may have, and every rule of the scanner.
void print_schema() {
    print_keys("", policy::kRootKeys);
    print_keys("profiles.NAME.", policy::kProfileKeys);
    print_keys("profiles.NAME.imports.", policy::kImportKeys);
    print_keys("profiles.NAME.limits.", policy::kLimitKeys);
    print_keys("profiles.NAME.scan.", policy::kScanKeys);
    for (const policy::ScanRule& rule : policy::scan_rules()) {
        fmt::print("profiles.NAME.scan.rules.\"{}\"   # {}\n", rule.name,
                   execution::name_of(rule.severity));
    }
    print_keys("profiles.NAME.privacy.", policy::kPrivacyKeys);
    print_keys("principals.NAME.", policy::kRuleKeys);
    print_keys("tool_sets.NAME.", policy::kRuleKeys);
}

Result<std::string> read_program(const std::string& file, Bytes limit) {
    Result<std::string> code = file == "-"
                                   ? read_all(Fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)), limit)
                                   : read_file(file, limit);
    if (!code && code.error().code == ErrorCode::SystemCall) {
        Error error = code.error();
        error.message = "cannot read the program";
        return fail(std::move(error));
    }
    return code;
}

std::string language_of(const ValidateOptions& options) {
    return !options.language.empty()        ? options.language
           : options.file.ends_with(".js")  ? "javascript"
           : options.file.ends_with(".mjs") ? "javascript"
           : options.file.ends_with(".cjs") ? "javascript"
           : options.file.ends_with(".ts")  ? "typescript"
                                            : "python";
}

Task<Result<void>> read_once(Runtime* runtime, policy::Question question,
                             engine::CancellationPtr cancellation,
                             std::optional<json::object>* kept) {
    const std::shared_ptr<const policy::Rulebook> rules = runtime->engine().rulebook();
    BJ_CO_TRY(execution::RunRequest request,
              engine::reading_request({.code = question.code, .language = question.language}));
    request.protocol = execution::Protocol::Local;
    BJ_CO_TRY(const execution::RunResult result,
              co_await runtime->engine().execute(std::move(request), std::move(cancellation)));
    *kept = policy::validate(question, engine::reading_of(result));
    co_return Result<void>{};
}

Result<json::object> try_validate(const config::Loaded& loaded, const ValidateOptions& options) {
    const config::Settings& settings = loaded.settings;
    BJ_TRY(std::string code, read_program(options.file, settings.limits.code));
    // A person at a terminal wants the answer, not our log.
    const bool chosen = loaded.origin_of("log.level").source != config::Origin::Source::Default;
    BJ_TRY(const std::unique_ptr<Runtime> runtime,
           Runtime::create(settings, chosen ? settings.log.level : LogLevel::Error));
    BJ_TRY_VOID(runtime->drop_privileges());
    const std::shared_ptr<const policy::Rulebook> rules = runtime->engine().rulebook();
    policy::Question question{.code = make_valid_utf8(code),
                              .language = language_of(options),
                              .profile_given = !options.profile.empty(),
                              .usual_profile = rules->default_profile()};
    BJ_TRY(question.profile, rules->find(options.profile.empty() ? "basic" : options.profile));
    if (!policy::is_readable(question.language)) {
        return fail(ErrorCode::Unsupported, "only python, javascript and typescript can be read");
    }
    std::optional<json::object> answer;
    const auto cancellation = std::make_shared<engine::Cancellation>();
    BJ_TRY_VOID(runtime->run(read_once(runtime.get(), std::move(question), cancellation, &answer),
                             [cancellation] { cancellation->request(); }));
    if (!answer) {
        return fail(ErrorCode::Cancelled, "stopped before there was an answer");
    }
    return std::move(*answer);
}

}  // namespace

int manage_policy(const config::Loaded& loaded, const PolicyOptions& options) {
    if (options.deed == PolicyOptions::Deed::Schema) {
        print_schema();
        return 0;
    }
    const std::string& path = options.path.empty() ? loaded.settings.policy.path : options.path;
    const Result<engine::PolicyPlace::Rules> rules = read_rules(loaded.settings, path);
    if (!rules) {
        complain(rules.error());
        return kExitFailed;
    }
    if (options.deed == PolicyOptions::Deed::Show) {
        fmt::print("{}\n", to_text((*rules)->to_json()));
        return 0;
    }
    fmt::print("The policy is valid: {} profiles, version {}\n", (*rules)->profiles().size(),
               (*rules)->version());
    return 0;
}

int validate_program(const config::Loaded& loaded, const ValidateOptions& options) {
    const Result<json::object> answer = try_validate(loaded, options);
    if (!answer) {
        complain(answer.error());
        return kExitFault;
    }
    fmt::print("{}\n",
               options.form == OutputForm::Json ? to_text(*answer) : policy::in_words(*answer));
    return answer->at("validation").at("valid").as_bool() ? 0 : kExitFailed;
}

}  // namespace belljar::apps
