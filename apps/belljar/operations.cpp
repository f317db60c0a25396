#include "operations.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

#include "access/gate.h"

namespace belljar::apps {
namespace {

constexpr auto kLookPause = std::chrono::milliseconds(20);

}  // namespace

Operations::Operations(const config::Loaded& loaded, ServiceManager manager, Runtime& runtime)
    : runtime_(runtime),
      reload_(loaded, runtime.log()),
      log_file_(loaded.settings.log.path),
      manager_(std::move(manager)) {}

Result<void> Operations::prepare() { return log_file_.open(); }

Result<void> Operations::give_to(const access::Account& account, const Spool& spool,
                                 const Listeners& listeners) const {
    BJ_TRY_VOID(spool.give_to(account));
    BJ_TRY_VOID(listeners.give_to(account));
    return log_file_.give_to(account.user, account.group);
}

Result<Inheritance> Inheritance::take() {
    BJ_TRY(std::vector<Fd> sockets, transport::take_passed_sockets());
    return Inheritance{.sockets = std::move(sockets), .manager = ServiceManager::find()};
}

void Operations::attach(transport::HttpServer& server, transport::HttpRouter& router,
                        transport::TlsFiles* tls) {
    reload_.on_reload(
        [this](const config::Settings& settings) { return log_file_.change(settings.log.path); });
    reload_.on_change({"log.path"}, [](const config::Settings&) { return Result<void>(); });
    reload_.on_change({"log.level"}, [this](const config::Settings& settings) {
        runtime_.change_log_level(settings.log.level);
        return Result<void>();
    });
    reload_.on_change({"limits.body", "limits.connections", "limits.connections_per_address",
                       "limits.head", "limits.headers", "limits.idle_time", "limits.head_time",
                       "limits.body_time", "limits.body_rate", "server.trusted_proxies"},
                      [&server](const config::Settings& settings) {
                          server.change([&settings](transport::HttpServer::Options& options) {
                              set_options(options, settings);
                          });
                          return Result<void>();
                      });
    reload_.on_change({"server.shutdown_time"},
                      [](const config::Settings&) { return Result<void>(); });
    reload_.on_change({"server.allowed_hosts", "auth.tokens"},
                      [&router](const config::Settings& settings) {
                          router.gate().allow_hosts(allowed_hosts(settings));
                          router.gate().take_tokens(named_tokens(settings));
                          return Result<void>();
                      });
    if (tls != nullptr) {
        reload_.on_change({"server.tls_certificate", "server.tls_key"},
                          [](const config::Settings&) { return Result<void>(); });
        reload_.on_reload([tls](const config::Settings& settings) {
            return tls->reload(tls_paths(settings.server));
        });
    }
}

void Operations::begin() {
    const asio::any_io_executor executor = runtime_.io().get_executor();
    runtime_.tasks().spawn("log file", log_file_.watch(executor, &runtime_.log()));
    runtime_.tasks().spawn("watchdog", manager_.show_life(executor));
    runtime_.on_hang_up([this] {
        manager_.reloading();
        reload_.run();
        manager_.ready("Serving");
    });
    manager_.ready("Serving");
}

void Operations::stop() {
    runtime_.on_hang_up([] {});  // a reload would come too late
    manager_.stopping();
    manager_.stop();
    log_file_.stop();
}

Result<Spool> Spool::open(const storage::DataDirectory& directory) {
    constexpr const char* kName = "incoming";
    Spool spool;
    if (::mkdirat(directory.fd().get(), kName, S_IRWXU) != 0 && errno != EEXIST) {
        return fail(system_error("make the directory of incoming bodies"));
    }
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
    spool.directory_ = Fd(::openat(directory.fd().get(), kName, kFlags));
    if (!spool.directory_.valid()) {
        return fail(system_error("open the directory of incoming bodies"));
    }
    return spool;
}

Result<void> Spool::give_to(const access::Account& account) const {
    if (::fchown(directory_.get(), account.user, account.group) != 0) {
        return fail(system_error("fchown the directory of incoming bodies"));
    }
    return {};
}

std::vector<access::NamedToken> named_tokens(const config::Settings& settings) {
    std::vector<access::NamedToken> tokens;
    for (const std::string& entry : settings.auth.tokens) {
        const std::size_t colon = entry.find(':');  // the settings allow no other form
        tokens.push_back({.principal = entry.substr(0, colon), .token = entry.substr(colon + 1)});
    }
    return tokens;
}

std::vector<std::string> allowed_hosts(const config::Settings& settings) {
    std::vector<std::string> hosts = settings.server.allowed_hosts;
    const std::string& url = settings.server.public_base_url;
    const std::size_t scheme = url.find("://");
    if (scheme != std::string::npos) {
        const std::string authority =
            url.substr(scheme + 3, url.find('/', scheme + 3) - scheme - 3);
        if (const auto host = access::host_name(authority)) {
            hosts.push_back(*host);
        }
    }
    return hosts;
}

Task<void> finish_requests(Runtime* runtime, transport::HttpServer* server, Duration time) {
    const TimePoint deadline = Clock::now() + time;
    asio::steady_timer pause(runtime->io());
    while (Clock::now() < deadline) {
        const engine::Admission::Figures runs = runtime->engine().figures().admission;
        if (!server->is_busy() && runs.running == 0 && runs.waiting == 0) {
            break;
        }
        boost::system::error_code ignored;
        pause.expires_after(kLookPause);
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
}

}  // namespace belljar::apps
