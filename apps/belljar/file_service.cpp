#include "file_service.h"

#include "api/bulk_routes.h"
#include "api/file_routes.h"
#include "api/signed_file_route.h"

namespace belljar::apps {

using storage::UrlSigner;

Result<std::unique_ptr<UrlSigner>> make_url_signer(const config::Settings& settings,
                                                   const storage::DataDirectory& directory) {
    UrlSigner::Options options{.secret = settings.files.secret,
                               .lifetime = settings.files.url_lifetime,
                               .maximum = settings.files.url_max_lifetime,
                               .legacy = settings.files.legacy_urls == config::Switch::On
                                             ? UrlSigner::Legacy::Accepted
                                             : UrlSigner::Legacy::Refused};
    if (options.secret.empty()) {
        BJ_TRY(options.secret, storage::load_or_create_file_secret(directory.fd()));
    }
    return std::make_unique<UrlSigner>(std::move(options));
}

void add_file_routes(api::Routes& routes, engine::Executor& executor,
                     const config::Settings& settings, const FileAddresses& addresses) {
    UrlSigner& signer = addresses.signer;
    signer.set_base(addresses.base);
    routes.add(std::make_unique<api::FileRoutes>(
        executor, api::FileRoutes::Options{.upload = settings.files.upload, .signer = &signer}));
    routes.add(std::make_unique<api::BulkRoutes>(
        executor, api::BulkRoutes::Options{.upload = settings.files.upload}));
    routes.add(std::make_unique<api::SignedFileRoute>(executor, signer));
}

}  // namespace belljar::apps
