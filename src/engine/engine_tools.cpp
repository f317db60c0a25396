#include <algorithm>
#include <boost/json/array.hpp>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "engine/engine.h"
#include "engine/grade.h"
#include "runner/manifest.h"

// What the engine has to do with approved tools: who gets which, and whether they can be imported,
// which only a jar can tell.
namespace belljar::engine {
namespace {

using approved::Refusal;
using execution::RunPlan;
using execution::RunResult;

constexpr std::string_view kTrialProgram = "python/check_tools.py";
constexpr Duration kToolTrialTime = std::chrono::seconds(120);  // the program ends before
constexpr std::size_t kLongestText = 500;

std::string text_in(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains(key);
    return value != nullptr && value->is_string()
               ? make_valid_utf8(std::string_view(value->get_string()).substr(0, kLongestText))
               : "";
}

// What the trial has said. Modules had their say in it, so only files that were tried are believed.
std::optional<std::vector<Refusal>> refusals_in(const RunResult& result,
                                                const std::vector<std::string>& files) {
    const Result<json::value> value = result.success() && result.result_json
                                          ? parse_json(*result.result_json)
                                          : Result<json::value>(fail(ErrorCode::NotFound, ""));
    if (!value || !value->is_array()) {
        return std::nullopt;
    }
    std::vector<Refusal> refusals;
    for (const json::value& entry : value->get_array()) {
        const json::object* told = entry.if_object();
        if (told != nullptr && std::ranges::find(files, text_in(*told, "file")) != files.end()) {
            refusals.push_back({.file = text_in(*told, "file"),
                                .reason = text_in(*told, "reason"),
                                .text = text_in(*told, "text")});
        }
    }
    return refusals;
}

std::vector<std::string> modules_of(const approved::Collection& collection) {
    std::vector<std::string> files;
    for (const approved::Module& module : collection.modules) {
        if (module.approval.file.ends_with(".py")) {
            files.push_back(module.approval.file);
        }
    }
    return files;
}

Result<approved::PackPtr> pack_all(const approved::Collection& collection) {
    std::vector<const approved::Module*> modules;
    for (const approved::Module& module : collection.modules) {
        modules.push_back(&module);
    }
    return approved::make_pack(modules);
}

}  // namespace

approved::PackPtr Engine::common_tools() const {
    return is_nested(options_.isolation) ? nullptr : tools_.shelf().common();
}

Result<approved::PackPtr> Engine::tools_for(const RunPlan& plan) {
    if (is_nested(options_.isolation)) {
        return approved::PackPtr();
    }
    approved::Reader reader{.principal = plan.request.principal,
                            .roles = plan.request.tool_sets,
                            .tool_sets = plan.tool_sets};
    if (principals_ != nullptr && reader.roles.empty() && !tools_.shelf().for_everybody()) {
        reader.roles = principals_->tool_sets_of(reader.principal);
    }
    return tools_.shelf().pack_for(reader);
}

// A module that is refused may be one that others import, so what is left is tried again.
Task<Result<approved::Collection>> Engine::try_tools(approved::Collection collection) {
    const LanguagePtr python = languages_.find("python");
    if (python == nullptr || !python->usable() || is_nested(options_.isolation)) {
        co_return collection;  // nobody can import them
    }
    while (true) {
        std::vector<std::string> files = modules_of(collection);
        if (files.empty()) {
            co_return collection;
        }
        BJ_CO_TRY(approved::PackPtr pack, pack_all(collection));
        BJ_CO_TRY(const std::vector<Refusal> refused,
                  co_await try_modules(std::move(pack), std::move(files)));
        if (refused.empty()) {
            co_return collection;
        }
        for (const Refusal& refusal : refused) {
            std::erase_if(collection.modules, [&refusal](const approved::Module& module) {
                return module.approval.file == refusal.file;
            });
            collection.refusals.push_back(refusal);
        }
    }
}

// All in one jar and, if that comes to a bad end, each in its own.
Task<Result<std::vector<Refusal>>> Engine::try_modules(approved::PackPtr pack,
                                                       std::vector<std::string> files) {
    Result<std::vector<Refusal>> together = co_await try_at_once(pack, files);
    if (together || together.error().code != ErrorCode::Denied) {
        co_return together;
    }
    if (files.size() == 1) {
        co_return std::vector<Refusal>{
            {.file = files.front(), .reason = "import_failed", .text = "its import ends the jar"}};
    }
    std::vector<Refusal> refusals;
    for (const std::string& file : files) {
        BJ_CO_TRY(const std::vector<Refusal> own,
                  co_await try_modules(pack, std::vector<std::string>{file}));
        refusals.insert(refusals.end(), own.begin(), own.end());
    }
    co_return refusals;
}

// Denied if the modules have kept the trial from its end.
Task<Result<std::vector<Refusal>>> Engine::try_at_once(approved::PackPtr pack,
                                                       std::vector<std::string> files) {
    const runner::ManifestPtr manifest = languages_.find("python")->manifest;
    RunPlan plan = plan_trial(*manifest);
    BJ_CO_TRY(plan.request.code, runner::embedded_guest_program(std::string(kTrialProgram)));
    json::array names(files.begin(), files.end());
    plan.request.stdin_text = to_text(json::value(std::move(names)));
    plan.request.arguments.clear();
    plan.limits.timeout = kToolTrialTime;
    BJ_CO_TRY(LaunchedJar jar,
              launch_jar(executor_, warden_, *manifest, plan.limits, {.tools = std::move(pack)}));
    BJ_CO_TRY(const RunResult result,
              co_await run_once(&plan, manifest.get(), std::move(jar),
                                std::make_shared<Cancellation>(), LiveStreams{}));
    std::optional<std::vector<Refusal>> refusals = refusals_in(result, files);
    if (!refusals) {
        co_return fail(ErrorCode::Denied, "the trial of the tools came to no end");
    }
    co_return std::move(*refusals);
}

void Engine::serve_tools() {
    pool_.stock(common_tools());
    tasks_.spawn("watch tools", tools_.watch([this] { pool_.stock(common_tools()); }));
}

}  // namespace belljar::engine
