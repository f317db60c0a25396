#include "tools_command.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <memory>
#include <utility>

#include "approved/directory.h"
#include "base/json.h"
#include "commands.h"
#include "runtime.h"
#include "tool_source.h"

namespace belljar::apps {
namespace {

json::object to_json(const approved::Module& module) {
    const approved::Approval& approval = module.approval;
    const auto names = [](const std::vector<std::string>& list) {
        return json::array(list.begin(), list.end());
    };
    return {{"module", approved::module_name(approval.file)},
            {"file", approval.file},
            {"sha256", approval.sha256},
            {"owner", approval.owner},
            {"version", approval.version},
            {"description", approval.description},
            {"principals", names(approval.principals)},
            {"roles", names(approval.roles)},
            {"tool_sets", names(approval.tool_sets)},
            {"needs_logs", approval.needs_logs}};
}

void show_json(const approved::Collection& collection) {
    json::array served;
    json::array refused;
    for (const approved::Module& module : collection.modules) {
        served.push_back(to_json(module));
    }
    for (const approved::Refusal& refusal : collection.refusals) {
        refused.push_back(json::object{
            {"file", refusal.file}, {"reason", refusal.reason}, {"text", refusal.text}});
    }
    fmt::print("{}\n", to_text(json::object{{"served", served}, {"refused", refused}}));
}

void show_text(const approved::Collection& collection) {
    for (const approved::Module& module : collection.modules) {
        const approved::Approval& approval = module.approval;
        fmt::print("{:<20} {:<8} {:<12} {}  {}\n", approved::module_name(approval.file),
                   approval.version, approval.owner, approval.sha256.substr(0, 16),
                   approval.description);
    }
    for (const approved::Refusal& refusal : collection.refusals) {
        fmt::print("NOT SERVED {}: {} ({})\n", refusal.file, refusal.text, refusal.reason);
    }
}

// In a jar: a module is never executed anywhere else.
Task<Result<void>> try_in_jar(Runtime* runtime, approved::Collection* collection) {
    BJ_CO_TRY_VOID(co_await runtime->engine().self_test());
    BJ_CO_TRY(*collection, co_await runtime->engine().try_tools(std::move(*collection)));
    co_return Result<void>{};
}

Result<approved::Collection> try_all(const config::Settings& settings,
                                     const approved::Source& source) {
    BJ_TRY(approved::Collection collection, approved::read_collection(source));
    config::Settings lenient = settings;
    lenient.isolation.require = config::IsolationFloor::Basic;
    lenient.tools.path = source.path;
    BJ_TRY(const std::unique_ptr<Runtime> runtime, Runtime::create(lenient, LogLevel::Error));
    BJ_TRY_VOID(runtime->drop_privileges());
    BJ_TRY_VOID(runtime->run(try_in_jar(runtime.get(), &collection), [] {}));
    return collection;
}

int write_draft(const approved::Source& source, const std::string& owner) {
    const Result<std::vector<approved::Approval>> draft =
        approved::draft_manifest(source, owner.empty() ? "unknown" : owner);
    if (!draft) {
        complain(draft.error());
        return kExitFailed;
    }
    fmt::print("{}", approved::write_manifest(*draft));
    return 0;
}

}  // namespace

void add_tools(CLI::App& app, ToolOptions& options) {
    CLI::App* tools =
        app.add_subcommand("tools", "Look after the modules that programs may import");
    tools->require_subcommand(1);
    tools->add_option("--path", options.path, "Directory of modules (tools.path)");
    CLI::App* list = tools->add_subcommand("list", "What is served, and what is not and why");
    CLI::App* verify =
        tools->add_subcommand("verify", "The same after each module was imported in a jar");
    CLI::App* manifest = tools->add_subcommand(
        "manifest", "Print a manifest of what is there now, for a person to look at");
    manifest->add_option("--owner", options.owner, "Who answers for modules that are new in it");
    for (CLI::App* command : {list, verify}) {
        command->add_flag("--json", options.json, "For programs");
    }
    for (CLI::App* command : {list, verify, manifest}) {
        command->fallthrough();
    }
    tools->footer(
        "Exit code: 0 if everything that is there is served, 1 if something is not.\n"
        "A running server sees a change by itself; running programs keep what they have.");
}

int manage_tools(const CLI::App& app, const config::Loaded& loaded, const ToolOptions& options) {
    const CLI::App* chosen = app.get_subcommand("tools");
    config::ToolSettings settings = loaded.settings.tools;
    if (!options.path.empty()) {
        settings.path = options.path;
    }
    const Result<std::optional<approved::Source>> source = find_tools(settings);
    if (!source || !*source) {
        complain(source ? Error{.code = ErrorCode::NotFound,
                                .message = "there is no directory of tools: set tools.path"}
                        : source.error());
        return kExitFailed;
    }
    if (chosen->got_subcommand("manifest")) {
        return write_draft(**source, options.owner);
    }
    const Result<approved::Collection> collection = chosen->got_subcommand("verify")
                                                        ? try_all(loaded.settings, **source)
                                                        : approved::read_collection(**source);
    if (!collection) {
        complain(collection.error());
        return kExitFailed;
    }
    options.json ? show_json(*collection) : show_text(*collection);
    return collection->refusals.empty() ? 0 : kExitFailed;
}

}  // namespace belljar::apps
