#include "listeners.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace belljar::apps {
namespace {

using transport::Listener;

std::string url_of(const config::ListenAddress& listen, const Listener& listener, bool encrypted) {
    if (listener.is_unix()) {
        return "http://localhost";  // clients of a Unix socket name the socket apart from it
    }
    config::ListenAddress address = listen;
    if (address.host.empty() || address.host == "0.0.0.0" || address.host == "::") {
        address.host = "127.0.0.1";
    }
    address.port = listener.port();
    return (encrypted ? "https://" : "http://") + config::format_listen_address(address);
}

Result<void> check_reach(const Listener& listener, config::AuthMode mode) {
    if (mode == config::AuthMode::None && !listener.is_local()) {
        return fail(ErrorCode::Denied,
                    "auth.mode is none, and a socket that was passed to the server is not on a "
                    "loopback address; use a token here");
    }
    return {};
}

}  // namespace

transport::TlsFiles::Paths tls_paths(const config::ServerSettings& settings) {
    return {.certificate = settings.tls_certificate, .key = settings.tls_key};
}

Result<Listeners> Listeners::open(const asio::any_io_executor& executor,
                                  const config::Settings& settings, std::vector<Fd> passed,
                                  const Log& log) {
    Listeners opened;
    const config::ServerSettings& server = settings.server;
    if (!server.tls_certificate.empty()) {
        BJ_TRY(opened.tls_, transport::TlsFiles::open(tls_paths(server), log));
    }
    for (Fd& socket : passed) {
        BJ_TRY(Listener listener, Listener::adopt(executor, std::move(socket)));
        BJ_TRY_VOID(check_reach(listener, settings.auth.mode));
        opened.listeners_.push_back(std::move(listener));
    }
    if (passed.empty()) {
        BJ_TRY(Listener listener, Listener::open_tcp(executor, server.listen));
        opened.listeners_.push_back(std::move(listener));
    }
    opened.url_ = url_of(server.listen, opened.listeners_.front(), opened.tls_ != nullptr);
    if (!server.unix_socket.empty()) {
        BJ_TRY(Listener listener, Listener::open_unix(executor, server.unix_socket));
        opened.listeners_.push_back(std::move(listener));
    }
    return opened;
}

Result<void> Listeners::give_to(const access::Account& account) const {
    for (const Listener& listener : listeners_) {
        BJ_TRY_VOID(listener.give_to(account.user, account.group));
    }
    return {};
}

void Listeners::add_to(transport::HttpServer& server) {
    for (Listener& listener : listeners_) {
        transport::TlsFiles* tls = listener.is_unix() ? nullptr : tls_.get();
        server.add(std::move(listener), tls);
    }
    listeners_.clear();
}

void set_options(transport::HttpServer::Options& options, const config::Settings& settings) {
    const config::LimitSettings& limits = settings.limits;
    options.body_limit = limits.body;
    options.connections = limits.connections;
    options.connections_each = limits.connections_per_address;
    options.head.size = limits.head;
    options.head.headers = limits.headers;
    options.times.idle = limits.idle_time;
    options.times.head = limits.head_time;
    options.times.handshake = limits.head_time;
    options.times.body = limits.body_time;
    options.body_rate = limits.body_rate;
    options.trusted_proxies.clear();
    for (const std::string& range : settings.server.trusted_proxies) {
        if (Result<config::AddressRange> parsed = config::parse_address_range(range)) {
            options.trusted_proxies.push_back(*parsed);  // the settings allow no others
        }
    }
}

}  // namespace belljar::apps
