#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "access/gate.h"
#include "access/token_book.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/result.h"
#include "base/task.h"
#include "base/task_group.h"
#include "config/settings.h"
#include "engine/admission.h"
#include "engine/principals.h"
#include "transport/key_fetcher.h"

namespace belljar::apps {

// Several if there is more than the one token without a name.
[[nodiscard]] Result<engine::Callers> callers_of(const config::AuthSettings& settings,
                                                 const Fd& token_folder);

// What the service knows of callers: the tokens in the data directory, and in oauth mode the keys
// of the authorization server. Outlives the gate and the engine's work.
class Authorization final : public engine::Principals {
   public:
    // All borrowed.
    struct Surroundings {
        const std::string& base_url;  // under which clients reach this server
        const Fd& token_folder;
        asio::any_io_executor executor;
        const Log& log;
    };

    static Result<std::unique_ptr<Authorization>> create(const config::Settings& settings,
                                                         const Surroundings& surroundings);

    // With everything that is not set there yet.
    [[nodiscard]] access::Gate::Options gate_options(access::Gate::Options options);
    // One only as long as nobody but the caller without a name could come.
    [[nodiscard]] engine::Callers callers() override;
    [[nodiscard]] execution::PrincipalLimits limits_of(const std::string& principal) override;
    [[nodiscard]] std::vector<std::string> tool_sets_of(const std::string& principal) override;
    // Has the keys ready if they can be had in a few seconds, and keeps them fresh from then on.
    Task<void> begin(TaskGroup* tasks);
    void stop();

   private:
    Authorization(const Fd& token_folder, const Log& log) : tokens_(token_folder, log) {}
    Result<void> add_oauth(const config::Settings& settings, const Surroundings& surroundings);

    bool asks_ = true;
    bool names_some_ = false;  // apart from the tokens in the folder
    access::TokenBook tokens_;
    std::unique_ptr<access::KeySource> keys_;
    transport::KeyFetcher* fetcher_ = nullptr;  // the same as keys_, if they come from a network
    std::unique_ptr<access::AccessTokens> access_tokens_;
    access::ProtectedResource resource_;
};

}  // namespace belljar::apps
