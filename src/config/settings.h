#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/listen_address.h"

namespace belljar::config {

enum class Switch { Off, On };

// What is written into the audit trail of a program's text.
enum class AuditCode { Digest, Full };

// What happens if the audit trail cannot be written.
enum class AuditFailure { Stop, Count };

// What happens to approved tools that the manifest does not list.
enum class Unlisted { Refuse, Serve };

// OAuth takes access tokens besides those of Token.
enum class AuthMode { Token, None, OAuth };

// The weakest isolation under which a run may start, in rising order.
enum class IsolationFloor { Basic, Standard, Full };

// How jars are made; Auto takes the strongest that is possible.
enum class LaunchMode { Auto, Root, Rootless, Nested };

struct ServerSettings {
    ListenAddress listen{.host = "127.0.0.1", .port = 8080};
    std::string data_dir{};  // empty: the program chooses
    std::string public_base_url{};
    std::string user{};
    std::vector<std::string> allowed_hosts{};
    std::string unix_socket{};  // empty: none
    std::string tls_certificate{};
    std::string tls_key{};
    std::vector<std::string> trusted_proxies{};
    Duration shutdown_time = std::chrono::seconds(10);

    bool operator==(const ServerSettings&) const = default;
};

struct AuthSettings {
    AuthMode mode = AuthMode::Token;
    std::string token{};                // empty: the program makes one
    std::vector<std::string> tokens{};  // of further callers, each as name:token
    std::string issuer{};
    std::string audience{};  // empty: the address of the MCP endpoint
    std::string jwks_url{};
    std::string jwks_path{};
    std::vector<std::string> algorithms{};  // empty: all that are understood
    std::string scopes_claim = "scope";
    std::string roles_claim{};

    bool operator==(const AuthSettings&) const = default;
};

struct FileSettings {
    std::string secret{};  // empty: the program makes one
    std::string workspace_path{};
    std::uint32_t output_keep = 256;
    Bytes output_space = gibibytes(1);
    Duration url_lifetime = std::chrono::hours(1);  // zero: for ever
    Duration url_max_lifetime = std::chrono::hours(7 * 24);
    Switch legacy_urls = Switch::Off;
    Bytes upload = gibibytes(1);

    bool operator==(const FileSettings&) const = default;
};

struct StorageSettings {
    std::uint32_t run_records_keep = 10'000;
    Duration run_records_age = std::chrono::hours(24 * 30);
    Bytes principal_space = gibibytes(10);
    std::uint32_t principal_files = 100'000;
    std::uint32_t principal_conversations = 1000;
    Duration conversation_idle{};  // zero: never
    Duration conversation_age{};   // zero: never
    Bytes total_space{};           // zero: any

    bool operator==(const StorageSettings&) const = default;
};

struct ToolSettings {
    std::string path{};
    std::string logs_path{};
    std::string manifest{};  // empty: manifest.toml in `path`
    Unlisted unlisted = Unlisted::Refuse;
    std::vector<std::string> dialects{};

    bool operator==(const ToolSettings&) const = default;
};

struct LimitSettings {
    Duration timeout = std::chrono::seconds(30);
    Duration max_timeout = std::chrono::seconds(300);
    Bytes memory = mebibytes(256);
    Bytes max_memory = gibibytes(4);
    double cpu = 0.5;
    double max_cpu = 2;
    std::uint32_t processes = 64;
    std::uint32_t max_processes = 256;
    Bytes output = mebibytes(1);
    Bytes max_output = mebibytes(8);
    Bytes output_file = mebibytes(64);
    Bytes output_flood = mebibytes(64);
    Bytes tmp = mebibytes(64);
    Bytes workspace = gibibytes(1);
    Bytes body = mebibytes(16);
    Bytes code = mebibytes(1);
    std::uint32_t concurrent_runs = 16;
    std::uint32_t concurrent_runs_per_principal = 0;  // 0: the program chooses
    std::uint32_t queued_runs = 256;
    std::uint32_t queued_runs_per_principal = 0;
    Duration queue_time = std::chrono::seconds(30);
    std::uint32_t batch_parallel = 0;
    std::uint32_t connections = 1024;
    std::uint32_t connections_per_address = 0;  // 0: no limit but that above
    Bytes head = kibibytes(32);
    std::uint32_t headers = 100;
    Duration idle_time = std::chrono::seconds(60);
    Duration head_time = std::chrono::seconds(15);
    Duration body_time = std::chrono::seconds(60);
    Bytes body_rate = kibibytes(4);
    std::uint32_t requests_per_minute = 0;  // 0: as many as come, here and below
    std::uint32_t request_burst = 0;        // 0: a minute's worth
    std::uint32_t global_requests_per_minute = 0;
    std::uint32_t global_request_burst = 0;
    std::uint32_t unknown_requests_per_minute = 3000;
    std::uint32_t runs_per_day = 0;
    std::uint32_t cpu_seconds_per_day = 0;

    bool operator==(const LimitSettings&) const = default;
};

struct SessionSettings {
    Duration idle = std::chrono::minutes(15);
    std::uint32_t most = 64;
    std::uint32_t most_each = 8;
    std::uint32_t checkpoints = 8;

    bool operator==(const SessionSettings&) const = default;
};

struct PoolSettings {
    std::uint32_t ready = 16;
    std::uint32_t most = 32;
    Duration idle = std::chrono::seconds(30);
    Bytes memory = mebibytes(512);

    bool operator==(const PoolSettings&) const = default;
};

struct PolicySettings {
    std::string path{};
    std::string profile = "standard";
    Switch network = Switch::Off;
    Switch filesystem = Switch::Off;
    Switch data_science = Switch::Off;
    std::vector<std::string> allowed_imports{};
    std::vector<std::string> mask{};  // types of personal data, in whatever leaves a jar

    bool operator==(const PolicySettings&) const = default;
};

struct PackageSettings {
    std::vector<std::string> blocked{};

    bool operator==(const PackageSettings&) const = default;
};

struct IsolationSettings {
    IsolationFloor require = IsolationFloor::Standard;
    LaunchMode mode = LaunchMode::Auto;
    std::string root{};     // empty: the host's own directories
    std::string scratch{};  // empty: /var/tmp
    Switch container_mode = Switch::Off;
    std::string container_image{};
    std::uint32_t uid_base = 2'000'000'000;
    std::uint32_t uid_count = 100'000'000;

    bool operator==(const IsolationSettings&) const = default;
};

struct RunnerSettings {
    std::string path = "/etc/belljar/runners.d";

    bool operator==(const RunnerSettings&) const = default;
};

struct AuditSettings {
    std::string path{};
    Switch enabled = Switch::On;
    AuditCode code = AuditCode::Digest;
    AuditFailure on_failure = AuditFailure::Stop;
    std::vector<std::string> copies{};  // "stdout", "syslog", "journald"
    Bytes rotate_size = mebibytes(64);
    Duration rotate_age = std::chrono::hours(24);
    Duration keep{};  // zero: for ever
    Duration sign_every = std::chrono::minutes(1);

    bool operator==(const AuditSettings&) const = default;
};

struct AlertSettings {
    std::string rules{};    // file; empty: none but the usual ones
    std::string webhook{};  // empty: none
    std::string webhook_secret{};

    bool operator==(const AlertSettings&) const = default;
};

struct LogSettings {
    LogLevel level = LogLevel::Info;
    std::string path{};  // empty: standard error

    bool operator==(const LogSettings&) const = default;
};

// Everything an operator can choose. What each value means and allows is said in schema.cpp.
struct Settings {
    ServerSettings server{};
    AuthSettings auth{};
    FileSettings files{};
    StorageSettings storage{};
    ToolSettings tools{};
    LimitSettings limits{};
    PoolSettings pool{};
    SessionSettings sessions{};
    PolicySettings policy{};
    PackageSettings packages{};
    IsolationSettings isolation{};
    RunnerSettings runners{};
    AuditSettings audit{};
    AlertSettings alerts{};
    LogSettings log{};

    bool operator==(const Settings&) const = default;
};

}  // namespace belljar::config
