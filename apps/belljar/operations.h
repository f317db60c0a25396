#pragma once

#include "base/log.h"
#include "base/result.h"
#include "config/load.h"
#include "listeners.h"
#include "log_file.h"
#include "reload.h"
#include "runtime.h"
#include "service_manager.h"
#include "storage/data_directory.h"
#include "transport/http_router.h"
#include "transport/http_server.h"

namespace belljar::apps {

// Where large bodies wait for their request: a directory of the server's own in its data directory.
class Spool {
   public:
    static Result<Spool> open(const storage::DataDirectory& directory);
    Result<void> give_to(const access::Account& account) const;
    [[nodiscard]] const Fd& fd() const { return directory_; }

   private:
    Fd directory_;
};

// What the process was given by whoever started it. Taken before there are children, for whom none
// of it is meant.
struct Inheritance {
    std::vector<Fd> sockets{};
    ServiceManager manager{};

    static Result<Inheritance> take();
};

// How a running server meets its surroundings: its log file, the service manager, and SIGHUP.
class Operations {
   public:
    Operations(const config::Loaded& loaded, ServiceManager manager, Runtime& runtime);

    // While privileged.
    Result<void> prepare();
    // Also what else the server's account must have.
    Result<void> give_to(const access::Account& account, const Spool& spool,
                         const Listeners& listeners) const;

    // What can change while the server runs. All are borrowed.
    void attach(transport::HttpServer& server, transport::HttpRouter& router,
                transport::TlsFiles* tls);
    [[nodiscard]] Reload& reload() { return reload_; }

    // From now on the service manager knows, and SIGHUP is obeyed.
    void begin();
    // On a signal to end.
    void stop();

   private:
    Runtime& runtime_;
    Reload reload_;
    LogFile log_file_;
    ServiceManager manager_;
};

// Host names of the settings under which clients may ask.
[[nodiscard]] std::vector<std::string> allowed_hosts(const config::Settings& settings);
// The tokens of the settings besides the one without a name.
[[nodiscard]] std::vector<access::NamedToken> named_tokens(const config::Settings& settings);

// Until nobody waits for an answer and nothing runs, or for the time that the settings allow.
Task<void> finish_requests(Runtime* runtime, transport::HttpServer* server, Duration time);

}  // namespace belljar::apps
