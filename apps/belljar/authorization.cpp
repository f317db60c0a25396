#include "authorization.h"

#include "access/key_file.h"

namespace belljar::apps {
namespace {

std::vector<access::Algorithm> algorithms_of(const config::AuthSettings& settings) {
    std::vector<access::Algorithm> algorithms;
    for (const std::string& name : settings.algorithms) {
        if (const auto algorithm = access::parse_algorithm(name)) {
            algorithms.push_back(*algorithm);
        }
    }
    if (algorithms.empty()) {
        algorithms = {access::Algorithm::Rs256, access::Algorithm::Ps256, access::Algorithm::Es256};
    }
    return algorithms;
}

}  // namespace

Result<engine::Callers> callers_of(const config::AuthSettings& settings, const Fd& token_folder) {
    if (settings.mode == config::AuthMode::None) {
        return engine::Callers::One;
    }
    BJ_TRY(const std::vector<access::TokenRecord> stored, access::read_tokens(token_folder));
    const bool several =
        settings.mode == config::AuthMode::OAuth || !settings.tokens.empty() || !stored.empty();
    return several ? engine::Callers::Several : engine::Callers::One;
}

Result<std::unique_ptr<Authorization>> Authorization::create(const config::Settings& settings,
                                                             const Surroundings& surroundings) {
    std::unique_ptr<Authorization> made(
        new Authorization(surroundings.token_folder, surroundings.log));
    made->asks_ = settings.auth.mode != config::AuthMode::None;
    made->names_some_ =
        settings.auth.mode == config::AuthMode::OAuth || !settings.auth.tokens.empty();
    if (settings.auth.mode == config::AuthMode::OAuth) {
        BJ_TRY_VOID(made->add_oauth(settings, surroundings));
    }
    return made;
}

Result<void> Authorization::add_oauth(const config::Settings& settings,
                                      const Surroundings& surroundings) {
    const config::AuthSettings& auth = settings.auth;
    if (auth.audience.empty() && settings.server.public_base_url.empty() &&
        !config::is_loopback(settings.server.listen)) {
        return fail(ErrorCode::InvalidArgument,
                    "auth.mode is oauth: set server.public_base_url or auth.audience, so that "
                    "access tokens can be told from those for other servers");
    }
    if (!auth.jwks_path.empty()) {
        Result<std::unique_ptr<access::KeyFile>> file =
            access::KeyFile::open(auth.jwks_path, surroundings.log);
        if (!file) {
            return fail(ErrorCode::InvalidArgument, "auth.jwks_path: " + file.error().describe());
        }
        keys_ = std::move(*file);
    } else {
        BJ_TRY(transport::KeyAddress address, transport::KeyAddress::parse(auth.jwks_url));
        auto fetcher = std::make_unique<transport::KeyFetcher>(
            surroundings.executor, std::move(address), transport::KeyFetcher::Times{},
            surroundings.log);
        fetcher_ = fetcher.get();
        keys_ = std::move(fetcher);
    }
    const std::string endpoint = surroundings.base_url + "/mcp";
    access_tokens_ = std::make_unique<access::AccessTokens>(
        access::AccessTokens::Rules{.issuer = auth.issuer,
                                    .audience = auth.audience.empty() ? endpoint : auth.audience,
                                    .scopes_claim = auth.scopes_claim,
                                    .roles_claim = auth.roles_claim,
                                    .algorithms = algorithms_of(auth)},
        *keys_);
    resource_ = {
        .resource = endpoint,
        .issuer = auth.issuer,
        .metadata_url = surroundings.base_url + "/.well-known/oauth-protected-resource/mcp"};
    return {};
}

access::Gate::Options Authorization::gate_options(access::Gate::Options options) {
    if (asks_) {
        options.stored_tokens = &tokens_;
        options.access_tokens = access_tokens_.get();
        options.resource = resource_;
    }
    return options;
}

engine::Callers Authorization::callers() {
    const bool several = asks_ && (names_some_ || !tokens_.empty());
    return several ? engine::Callers::Several : engine::Callers::One;
}

execution::PrincipalLimits Authorization::limits_of(const std::string& principal) {
    return asks_ ? tokens_.limits_of(principal) : execution::PrincipalLimits{};
}

std::vector<std::string> Authorization::tool_sets_of(const std::string& principal) {
    return asks_ ? tokens_.tool_sets_of(principal) : std::vector<std::string>{};
}

Task<void> Authorization::begin(TaskGroup* tasks) {
    if (fetcher_ != nullptr) {
        co_await fetcher_->fetch();
        tasks->spawn("keys of the authorization server", fetcher_->run());
    }
}

void Authorization::stop() {
    if (fetcher_ != nullptr) {
        fetcher_->stop();
    }
}

}  // namespace belljar::apps
