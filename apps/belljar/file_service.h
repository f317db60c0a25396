#pragma once

#include <memory>
#include <string>

#include "api/routes.h"
#include "config/settings.h"
#include "engine/executor.h"
#include "storage/data_directory.h"
#include "storage/signed_url.h"

namespace belljar::apps {

// Signs with the secret of the settings, or with one that is kept in the data directory.
[[nodiscard]] Result<std::unique_ptr<storage::UrlSigner>> make_url_signer(
    const config::Settings& settings, const storage::DataDirectory& directory);

struct FileAddresses {
    storage::UrlSigner& signer;  // outlives the routes
    const std::string& base;     // under which clients reach this server
};

// Everything under which files of conversations are reached.
void add_file_routes(api::Routes& routes, engine::Executor& executor,
                     const config::Settings& settings, const FileAddresses& addresses);

}  // namespace belljar::apps
