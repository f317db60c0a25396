#include "transport/tls_files.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <boost/asio/buffer.hpp>
#include <string_view>

#include "base/fd.h"

namespace belljar::transport {
namespace {

namespace ssl = asio::ssl;
using boost::system::error_code;

constexpr auto kLookPause = std::chrono::seconds(2);
constexpr Bytes kFileLimit = mebibytes(1);
// Of TLS 1.2: fresh keys for each connection and authenticated encryption. 1.3 has no others.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

// The protocol that we speak, among those that the client offers, each with its length before it;
// empty if it offers others only.
std::string_view choose_protocol(std::string_view offered) {
    for (std::size_t at = 0; at < offered.size();) {
        const auto count = static_cast<unsigned char>(offered[at]);
        const std::string_view name = offered.substr(at + 1, count);
        if (name == "http/1.1" || name == "http/1.0") {
            return name;
        }
        at += count + 1U;
    }
    return "";
}

// A client that offers other protocols only is sent away: it would misread our bytes.
constexpr auto kChooseProtocol = [](SSL*, const unsigned char** chosen, unsigned char* length,
                                    const unsigned char* offered, unsigned int size, void*) -> int {
    const std::string_view name = choose_protocol({reinterpret_cast<const char*>(offered), size});
    *chosen = reinterpret_cast<const unsigned char*>(name.data());
    *length = static_cast<unsigned char>(name.size());
    return name.empty() ? SSL_TLSEXT_ERR_ALERT_FATAL : SSL_TLSEXT_ERR_OK;
};

Result<std::string> read_pem(const std::string& path, std::string_view key) {
    Result<std::string> text = read_file(path, kFileLimit);
    if (!text) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("{}: {} cannot be read: {}", key, path, text.error().describe()));
    }
    return text;
}

void choose_ways(ssl::context& context) {
    SSL_CTX* handle = context.native_handle();
    SSL_CTX_set_min_proto_version(handle, TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(handle, kCiphers);
    SSL_CTX_set_options(
        handle, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(handle, SSL_MODE_RELEASE_BUFFERS);  // of connections that are idle
    SSL_CTX_set_session_cache_mode(handle, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(handle, kChooseProtocol, nullptr);
}

Result<std::shared_ptr<ssl::context>> load(const TlsFiles::Paths& paths) {
    BJ_TRY(const std::string certificate, read_pem(paths.certificate, "server.tls_certificate"));
    BJ_TRY(std::string key, read_pem(paths.key, "server.tls_key"));
    auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
    choose_ways(*context);
    error_code error;
    // A key with a passphrase would have OpenSSL ask for it at the terminal.
    context->set_password_callback([](auto, auto) { return std::string(); }, error);
    context->use_certificate_chain(asio::buffer(certificate), error);
    if (error) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("server.tls_certificate: {} holds no certificate in PEM form",
                                paths.certificate));
    }
    context->use_private_key(asio::buffer(key), ssl::context::pem, error);
    ::OPENSSL_cleanse(key.data(), key.size());
    const bool fits = !error && SSL_CTX_check_private_key(context->native_handle()) == 1;
    ::ERR_clear_error();
    if (!fits) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("server.tls_key: {} holds no key in PEM form without a passphrase "
                                "that fits the certificate",
                                paths.key));
    }
    return context;
}

}  // namespace

Result<std::unique_ptr<TlsFiles>> TlsFiles::open(const Paths& paths, const Log& log) {
    std::unique_ptr<TlsFiles> files(new TlsFiles(paths, log));
    BJ_TRY_VOID(files->reload(paths));
    return files;
}

std::shared_ptr<ssl::context> TlsFiles::context() {
    const TimePoint now = Clock::now();
    if (now - looked_ < kLookPause) {
        return context_;
    }
    looked_ = now;
    if (stamps_of(paths_) == seen_) {
        return context_;
    }
    if (const Result<void> fresh = reload(paths_); !fresh) {
        log_.error("the new TLS certificate is not used; the old one stays",
                   {{"reason", fresh.error().message}});
    } else {
        log_.info("the TLS certificate was read again", {{"certificate", paths_.certificate}});
    }
    return context_;
}

Result<void> TlsFiles::reload(const Paths& paths) {
    looked_ = Clock::now();
    // Before reading: a change in between is seen next time.
    const Stamps stamps = stamps_of(paths);
    if (paths == paths_) {
        seen_ = stamps;  // even if it fails: the reason is said once
    }
    BJ_TRY(context_, load(paths));
    paths_ = paths;
    seen_ = stamps;
    return {};
}

TlsFiles::Stamps TlsFiles::stamps_of(const Paths& paths) {
    return {.certificate = stamp_of(paths.certificate), .key = stamp_of(paths.key)};
}

TlsFiles::Stamp TlsFiles::stamp_of(const std::string& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) {
        return {};
    }
    constexpr std::int64_t kNanoseconds = 1'000'000'000;
    return {.inode = status.st_ino,
            .modified = status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec,
            .size = status.st_size};
}

}  // namespace belljar::transport
