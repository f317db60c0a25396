#include "audit_place.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "api/upkeep_routes.h"
#include "data_place.h"

namespace belljar::apps {
namespace {

std::string name_of(TrailUser user) {
    switch (user) {
        case TrailUser::Server:
            return "serve";
        case TrailUser::Speaker:
            return "mcp";
        case TrailUser::Command:
            break;
    }
    return "command";
}

Result<audit::Trail::Options> options_for(const config::Settings& settings, TrailUser user) {
    BJ_TRY(std::vector<audit::CopyTarget> copies, audit::parse_copy_targets(settings.audit.copies));
    audit::Trail::Options options{.settings = settings.audit,
                                  .secrets = api::secrets_of(settings),
                                  .program = name_of(user),
                                  .version = BELLJAR_VERSION};
    if (user == TrailUser::Speaker) {
        options.places.standard_output = STDERR_FILENO;  // standard output is the protocol's
    } else if (user == TrailUser::Command) {
        std::erase(copies, audit::CopyTarget::Stdout);  // it is the program's
        options.upkeep = audit::Trail::Options::Upkeep::None;
    }
    options.copies = std::move(copies);
    return options;
}

}  // namespace

std::string choose_audit_directory(const config::Settings& settings) {
    return settings.audit.path.empty() ? choose_data_directory(settings) + "/audit"
                                       : settings.audit.path;
}

Result<std::unique_ptr<audit::Trail>> prepare_trail(const config::Settings& settings,
                                                    TrailUser user) {
    const bool place_named = !settings.audit.path.empty() || !settings.server.data_dir.empty();
    if (settings.audit.enabled == config::Switch::Off ||
        (user != TrailUser::Server && !place_named)) {
        return nullptr;
    }
    BJ_TRY(audit::Trail::Options options, options_for(settings, user));
    return audit::Trail::prepare(choose_audit_directory(settings), std::move(options),
                                 Log("audit", settings.log.level));
}

Result<std::unique_ptr<audit::Trail>> join_trail(const config::Settings& settings) {
    const std::string path = choose_audit_directory(settings);
    std::error_code error;
    if (settings.audit.enabled == config::Switch::Off ||
        !std::filesystem::exists(path + "/" + audit::kHeadFile, error)) {
        return nullptr;
    }
    BJ_TRY(audit::Trail::Options options, options_for(settings, TrailUser::Command));
    BJ_TRY(std::unique_ptr<audit::Trail> trail,
           audit::Trail::prepare(path, std::move(options), Log("audit", settings.log.level)));
    BJ_TRY_VOID(trail->start());
    return trail;
}

}  // namespace belljar::apps
