#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>
#include <vector>

#include "access/privileges.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/result.h"
#include "config/settings.h"
#include "transport/http_server.h"
#include "transport/listener.h"
#include "transport/tls_files.h"

namespace belljar::apps {

// What connections come in by: sockets that were passed to the process in place of server.listen,
// or that address; and server.unix_socket. TLS, if there is a certificate, for all but Unix
// sockets.
class Listeners {
   public:
    // Before privileges are dropped.
    static Result<Listeners> open(const asio::any_io_executor& executor,
                                  const config::Settings& settings, std::vector<Fd> passed,
                                  const Log& log);

    Result<void> give_to(const access::Account& account) const;
    // Moves them into the server.
    void add_to(transport::HttpServer& server);

    // "https://127.0.0.1:8080": how clients on this machine reach the first of them.
    [[nodiscard]] const std::string& url() const { return url_; }
    [[nodiscard]] transport::TlsFiles* tls() const { return tls_.get(); }

   private:
    std::vector<transport::Listener> listeners_;
    std::unique_ptr<transport::TlsFiles> tls_;
    std::string url_;
};

[[nodiscard]] transport::TlsFiles::Paths tls_paths(const config::ServerSettings& settings);

// The part of the options that the settings say.
void set_options(transport::HttpServer::Options& options, const config::Settings& settings);

}  // namespace belljar::apps
