#include "admin_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdlib>

#include "admin_view.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/percent.h"
#include "config/duration.h"
#include "data_place.h"
#include "transport/http_client.h"

namespace belljar::apps {
namespace {

using transport::ClientAnswer;
using transport::ClientRequest;
using transport::ServerAddress;

constexpr auto kPatience = std::chrono::seconds(60);

// The name of the command below `belljar admin` that was given.
std::string deed_of(const CLI::App& app) {
    for (const CLI::App* command : app.get_subcommand("admin")->get_subcommands()) {
        return command->get_name();
    }
    return "";
}

std::string with_query(std::string path,
                       std::initializer_list<std::pair<std::string_view, std::string>> values) {
    char before = '?';
    for (const auto& [name, value] : values) {
        if (!value.empty()) {
            path += fmt::format("{}{}={}", before, name, percent_encoded(value));
            before = '&';
        }
    }
    return path;
}

Result<json::object> limits_of(const std::vector<std::string>& words) {
    json::object limits;
    for (const std::string& word : words) {
        const std::size_t equals = word.find('=');
        const std::string number = equals == std::string::npos ? "" : word.substr(equals + 1);
        const bool digits = !number.empty() && number.size() <= 15 &&
                            number.find_first_not_of("0123456789") == std::string::npos;
        if (!digits && number != "none") {
            return fail(ErrorCode::InvalidArgument,
                        "a limit is written as runs_per_day=100, or runs_per_day=none");
        }
        limits[word.substr(0, equals)] =
            digits ? json::value(std::int64_t{std::stoll(number)}) : json::value(nullptr);
    }
    return limits;
}

Result<std::string> token_body(const AdminOptions& options, bool with_name) {
    json::object body;
    if (with_name) {
        body["name"] = options.id;
    }
    if (!options.roles.empty()) {
        body["roles"] = json::array(options.roles.begin(), options.roles.end());
    }
    if (!options.expires.empty()) {
        body["expires"] = options.expires;
    }
    BJ_TRY(json::object limits, limits_of(options.limits));
    if (!limits.empty()) {
        body["limits"] = std::move(limits);
    }
    return to_text(body);
}

Result<std::string> retention_body(const AdminOptions& options) {
    json::object body{{"mode", options.remove ? "remove" : "dry_run"}};
    for (const auto& [name, text] :
         {std::pair("idle_seconds", &options.idle), std::pair("age_seconds", &options.age)}) {
        if (!text->empty()) {
            BJ_TRY(const Duration time, config::parse_duration(*text));
            body[name] = std::chrono::floor<std::chrono::seconds>(time).count();
        }
    }
    if (!options.space.empty()) {
        BJ_TRY(const Bytes space, parse_bytes(options.space));
        body["total_bytes"] = space.count;
    }
    if (!options.principal.empty()) {
        body["principal"] = options.principal;
    }
    return to_text(body);
}

std::string path_of(std::string_view list, const std::string& id) {
    return fmt::format("/v1/admin/{}/{}", list, percent_encoded(id));
}

// "-" is the principal without a name.
std::string principal_of(const AdminOptions& options) {
    return options.id == "-" ? "" : options.id;
}

Result<std::string> block_body(const AdminOptions& options) {
    BJ_TRY(const Duration time, config::parse_duration(options.time));
    return to_text(json::object{{"principal", principal_of(options)},
                                {"seconds", std::chrono::ceil<std::chrono::seconds>(time).count()},
                                {"reason", options.reason}});
}

std::string quarantine_body(const AdminOptions& options) {
    return to_text(json::object{{"principal", principal_of(options)},
                                {"conversation_id", options.conversation},
                                {"reason", options.reason}});
}

Result<ClientRequest> hold_for(const std::string& deed, const AdminOptions& options) {
    if (deed == "block") {
        BJ_TRY(std::string body, block_body(options));
        return ClientRequest{
            .method = "POST", .target = "/v1/admin/blocks", .body = std::move(body)};
    }
    if (deed == "quarantine") {
        return ClientRequest{
            .method = "POST", .target = "/v1/admin/quarantines", .body = quarantine_body(options)};
    }
    if (deed == "unblock") {
        return ClientRequest{.method = "DELETE", .target = path_of("blocks", options.id)};
    }
    return ClientRequest{
        .method = "DELETE",
        .target = path_of("quarantines", options.id) + "/" + percent_encoded(options.conversation)};
}

Result<ClientRequest> change_for(const std::string& deed, const AdminOptions& options) {
    if (deed == "kill-run" || deed == "kill-session" || deed == "token-revoke") {
        const std::string_view list = deed == "kill-run"       ? "runs"
                                      : deed == "kill-session" ? "sessions"
                                                               : "tokens";
        return ClientRequest{.method = "DELETE", .target = path_of(list, options.id)};
    }
    if (deed == "token-create") {
        BJ_TRY(std::string body, token_body(options, true));
        return ClientRequest{
            .method = "POST", .target = "/v1/admin/tokens", .body = std::move(body)};
    }
    if (deed == "token-change") {
        BJ_TRY(std::string body, token_body(options, false));
        return ClientRequest{
            .method = "PATCH", .target = path_of("tokens", options.id), .body = std::move(body)};
    }
    if (deed == "cleanup") {
        BJ_TRY(std::string body, retention_body(options));
        return ClientRequest{
            .method = "POST", .target = "/v1/admin/retention", .body = std::move(body)};
    }
    if (deed == "block" || deed == "unblock" || deed == "quarantine" || deed == "release") {
        return hold_for(deed, options);
    }
    if (deed == "alerts") {
        return ClientRequest{.target = "/v1/alerts"};
    }
    if (deed == "drain" && options.drain != "status") {
        return ClientRequest{.method = "PUT",
                             .target = "/v1/admin/drain",
                             .body = to_text(json::object{{"draining", options.drain == "on"}})};
    }
    return ClientRequest{.target = "/v1/admin/" + deed};
}

Result<ClientRequest> request_for(const std::string& deed, const AdminOptions& options) {
    BJ_TRY(ClientRequest request, change_for(deed, options));
    if (request.method == "GET") {
        request.target =
            with_query(request.target, {{"principal", deed == "tokens" ? "" : options.principal},
                                        {"state", deed == "runs" ? options.state : ""},
                                        {"from", options.from},
                                        {"to", options.to}});
    }
    return request;
}

Result<std::string> find_token(const config::Loaded& loaded, const AdminOptions& options) {
    if (loaded.settings.auth.mode == config::AuthMode::None) {
        return std::string();
    }
    if (const char* given = std::getenv("BELLJAR_TOKEN");
        given != nullptr && options.token_file.empty()) {
        return std::string(given);
    }
    const std::string file = options.token_file.empty()
                                 ? choose_data_directory(loaded.settings) + "/token"
                                 : options.token_file;
    Result<std::string> text = options.token_file.empty() && !loaded.settings.auth.token.empty()
                                   ? Result<std::string>(loaded.settings.auth.token)
                                   : read_file(file, kibibytes(8));
    if (!text) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("no token: set BELLJAR_TOKEN, name a file with --token-file, or "
                                "make {} readable",
                                file));
    }
    text->erase(std::min(text->find_first_of("\r\n"), text->size()));
    return text;
}

std::string default_url(const config::Settings& settings) {
    config::ListenAddress address = settings.server.listen;
    if (address.host.empty() || address.host == "0.0.0.0" || address.host == "::") {
        address.host = "127.0.0.1";
    }
    return "http://" + config::format_listen_address(address);
}

Result<ClientAnswer> ask(const ServerAddress& address, ClientRequest request) {
    asio::io_context io(1);
    Result<ClientAnswer> answer = fail(ErrorCode::Unavailable, "the server did not answer in time");
    asio::co_spawn(io,
                   transport::ask_server(io.get_executor(), address, std::move(request),
                                         Clock::now() + kPatience),
                   [&answer](const std::exception_ptr& thrown, Result<ClientAnswer> given) {
                       if (!thrown) {
                           answer = std::move(given);
                       }
                   });
    io.run_for(kPatience);
    return answer;
}

// What a refusal says, in either of its shapes.
std::string reason_of(const ClientAnswer& answer) {
    const Result<json::value> body = parse_json(answer.body);
    if (body && body->is_object()) {
        for (const std::string_view member : {"detail", "error", "title"}) {
            const json::value* text = body->get_object().if_contains(member);
            if (text != nullptr && text->is_string()) {
                return fmt::format("{} (HTTP {})", std::string_view(text->get_string()),
                                   answer.status);
            }
        }
    }
    return fmt::format("the server answered with HTTP {}", answer.status);
}

Result<void> try_administer(const std::string& deed, const config::Loaded& loaded,
                            const AdminOptions& options) {
    BJ_TRY(const ServerAddress address,
           ServerAddress::parse(options.url.empty() ? default_url(loaded.settings) : options.url));
    BJ_TRY(ClientRequest request, request_for(deed, options));
    BJ_TRY(request.token, find_token(loaded, options));
    BJ_TRY(const ClientAnswer answer, ask(address, std::move(request)));
    if (answer.status >= 300) {
        return fail(ErrorCode::Denied, reason_of(answer));
    }
    if (options.json || deed == "diagnostics") {
        fmt::print("{}{}", answer.body, answer.body.empty() ? "" : "\n");
        return {};
    }
    fmt::print("{}", admin_view(deed, answer.body));
    return {};
}

void add_tokens(CLI::App& admin, AdminOptions& options) {
    admin.add_subcommand("tokens", "Names, roles, expiry and limits of tokens");
    for (const auto& [name, help] :
         {std::pair("token-create", "Make a token and print it, this once"),
          std::pair("token-change", "Change roles, expiry or limits")}) {
        CLI::App* command = admin.add_subcommand(name, help);
        command->add_option("NAME", options.id, "Whom it stands for")->required();
        command->add_option("--role", options.roles,
                            "admin, operator, user, auditor or a tool set; may be repeated");
        command->add_option("--expires", options.expires, "Such as 30d or 12h; never");
        command->add_option("--limit", options.limits,
                            "Such as runs_per_day=100, or =none for that of everybody; may be "
                            "repeated");
    }
    CLI::App* revoke = admin.add_subcommand("token-revoke", "Make a token worthless");
    revoke->add_option("NAME", options.id, "As in the list")->required();
}

void add_alerts(CLI::App& admin, AdminOptions& options) {
    admin.add_subcommand("alerts", "The last alerts");
    admin.add_subcommand("blocks", "Who may run nothing now");
    CLI::App* block = admin.add_subcommand("block", "Let a principal run nothing for a while");
    block->add_option("NAME", options.id, "The principal; - is the one without a name")->required();
    block->add_option("--time", options.time, "Such as 30m or 12h")->required();
    admin.add_subcommand("unblock", "Let a principal run again")
        ->add_option("NAME", options.id)
        ->required();
    admin.add_subcommand("quarantines", "Conversations that nobody may use");
    CLI::App* quarantine = admin.add_subcommand("quarantine", "Let nobody use a conversation");
    for (CLI::App* command :
         {quarantine, admin.add_subcommand("release", "Let a conversation be used again")}) {
        command->add_option("NAME", options.id, "Whose it is")->required();
        command->add_option("CONVERSATION", options.conversation)->required();
    }
    for (CLI::App* command : {block, quarantine}) {
        command->add_option("--reason", options.reason, "For whoever looks at it later");
    }
}

}  // namespace

void add_admin(CLI::App& app, AdminOptions& options, std::string& data_directory) {
    CLI::App* admin = app.add_subcommand("admin", "Look after a running server");
    admin->require_subcommand(1);
    admin->add_option("--url", options.url, "http://..., https://... or unix:/path");
    admin->add_option("--token-file", options.token_file,
                      "File with the token; else BELLJAR_TOKEN or the one of the data directory");
    admin->add_option("--data-dir", data_directory, "The one of the server (/var/lib/belljar)");
    admin->add_option("--principal", options.principal, "Only this one's");
    admin->add_flag("--json", options.json, "The answer of the server as it is");
    CLI::App* runs = admin->add_subcommand("runs", "Runs of everybody");
    runs->add_option("--state", options.state, "queued, running (default) or ended");
    admin->add_subcommand("kill-run", "End a run of anybody")
        ->add_option("ID", options.id)
        ->required();
    admin->add_subcommand("sessions", "Sessions of everybody");
    admin->add_subcommand("kill-session", "End a session of anybody")
        ->add_option("ID", options.id)
        ->required();
    admin->add_subcommand("drain", "Take no more runs, or again")
        ->add_option("WHAT", options.drain, "on, off or status")
        ->required()
        ->check(CLI::IsMember({"on", "off", "status"}));
    admin->add_subcommand("quota", "What a principal may use, and has used today");
    CLI::App* usage = admin->add_subcommand("usage", "What principals have used, by day");
    usage->add_option("--from", options.from, "First day, such as 2026-01-31");
    usage->add_option("--to", options.to, "Last day");
    admin->add_subcommand("conversations", "Conversations of everybody");
    CLI::App* cleanup =
        admin->add_subcommand("cleanup", "Conversations that can go; --remove removes them");
    cleanup->add_option("--idle", options.idle, "Not used for so long, such as 720h");
    cleanup->add_option("--age", options.age, "Made so long ago");
    cleanup->add_option("--space", options.space, "The longest unused beyond this, such as 10g");
    cleanup->add_flag("--remove", options.remove, "Not only say which");
    add_tokens(*admin, options);
    add_alerts(*admin, options);
    admin->add_subcommand("config", "Every setting in force and where it came from");
    admin->add_subcommand("version", "What runs there");
    admin->add_subcommand("diagnostics", "What to send along with a report of a fault");
    for (CLI::App* command : admin->get_subcommands({})) {
        command->fallthrough();
    }
}

int administer(const CLI::App& app, const config::Loaded& loaded, const AdminOptions& options) {
    if (const Result<void> done = try_administer(deed_of(app), loaded, options); !done) {
        fmt::print(stderr, "belljar: {}\n", done.error().message);
        return kExitFailed;
    }
    return 0;
}

}  // namespace belljar::apps
