#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "access/gate.h"
#include "access/token_store.h"
#include "administration.h"
#include "alerting.h"
#include "api/routes.h"
#include "audit_place.h"
#include "authorization.h"
#include "commands.h"
#include "data_place.h"
#include "file_service.h"
#include "listeners.h"
#include "local_conversations.h"
#include "mcp/server.h"
#include "operations.h"
#include "runtime.h"
#include "server_state.h"
#include "storage/data_directory.h"
#include "storage/output_store.h"
#include "transport/http_router.h"
#include "transport/http_server.h"

namespace belljar::apps {
namespace {

constexpr auto kFarewellTime = std::chrono::seconds(10);

// How the token appears in the lines that a person pastes: itself the one time it is shown, and
// later as the file that holds it.
struct TokenText {
    std::string token{};  // empty without authentication
    std::string paste{};
    std::string note{};
};

Result<TokenText> choose_token(const config::Settings& settings,
                               const storage::DataDirectory& directory) {
    if (settings.auth.mode == config::AuthMode::None) {
        if (!config::is_loopback(settings.server.listen)) {
            return fail(ErrorCode::Denied,
                        "--auth none is allowed only on a loopback address such as "
                        "127.0.0.1:8080; use a token here");
        }
        return TokenText{.note = "Anyone on this machine may use it: authentication is off.\n"};
    }
    if (!settings.auth.token.empty()) {
        return TokenText{.token = settings.auth.token,
                         .paste = "YOUR_TOKEN",
                         .note = "Token: the one from the configuration (auth.token).\n"};
    }
    BJ_TRY(access::StoredToken stored, access::load_or_create_token(directory.fd()));
    const std::string file = directory.path() + "/token";
    if (stored.created) {
        return TokenText{.token = stored.token,
                         .paste = stored.token,
                         .note = fmt::format("Token (shown this once, kept in {}):\n  {}\n", file,
                                             stored.token)};
    }
    return TokenText{.token = stored.token,
                     .paste = fmt::format("$(cat {})", file),
                     .note = fmt::format("Token: kept in {}\n", file)};
}

// Empty if the operator has not said under which address clients reach this server.
std::string public_base(const config::Settings& settings) {
    std::string url = settings.server.public_base_url;
    while (url.ends_with('/')) {
        url.pop_back();
    }
    return url;
}

std::string base_url(const config::Settings& settings, const Listeners& listeners) {
    return settings.server.public_base_url.empty() ? listeners.url() : public_base(settings);
}

// The page takes the token out of its own address, which no server and no log ever sees.
std::string page_link(const std::string& url, const TokenText& token) {
    if (token.token.empty()) {
        return url + "/";
    }
    // A token that is not shown again has to be read by the shell.
    const bool shell = token.paste.starts_with("$(");
    const std::string link = fmt::format("{}/#token={}", url, token.paste);
    return shell ? fmt::format("echo \"{}\"", link) : link;
}

void greet(const std::string& url, const TokenText& token, const execution::Isolation& isolation) {
    const bool asks = !token.token.empty();
    const std::string curl_header =
        asks ? fmt::format("-H \"Authorization: Bearer {}\" ", token.paste) : "";
    const std::string claude_header =
        asks ? fmt::format(" --header \"Authorization: Bearer {}\"", token.paste) : "";
    fmt::print(
        "Belljar {} listens on {}\n"
        "Isolation: {} (missing: {})\n"
        "{}"
        "\nOpen it in a browser:\n"
        "  {}\n"
        "\nTry it:\n"
        "  curl -s {}/execute {}-H 'Content-Type: application/json' "
        "-d '{{\"code\": \"print(6*7)\"}}'\n"
        "\nUse it in Claude Code:\n"
        "  claude mcp add --transport http belljar {}/mcp{}\n"
        "\nStop it with Ctrl-C.\n",
        BELLJAR_VERSION, url, isolation.grade,
        isolation.missing.empty() ? "nothing"
                                  : fmt::format("{}", fmt::join(isolation.missing, ", ")),
        token.note, page_link(url, token), url, curl_header, url, claude_header);
    std::fflush(stdout);
}

// Everything the HTTP service consists of, wired from the outside in.
struct Service {
    struct Parts {
        access::Gate gate;
        const storage::OutputStore& outputs;
        transport::HttpRouter::Watch watch;
        const Spool& spool;
    };

    Service(Runtime& runtime, const config::Settings& settings, Fixtures fixtures, Parts parts)
        : mcp(runtime.io().get_executor(), runtime.engine(),
              {.identity = {.version = BELLJAR_VERSION},
               .dialects = mcp::parse_dialects(settings.tools.dialects),
               .outputs = &parts.outputs,
               .fixtures = fixtures},
              runtime.log()),
          routes(
              runtime.engine(),
              [this, &runtime] { return runtime.engine().ready() && !http.is_draining(); },
              &parts.outputs, &runtime.engine().feed(), parts.watch.counters),
          router(std::move(parts.gate), mcp, routes, parts.watch),
          http(
              runtime.io().get_executor(),
              [this](access::HttpRequest request, engine::CancellationPtr cancellation) {
                  return router.answer(std::move(request), std::move(cancellation));
              },
              {.precheck = [this](const access::HttpRequest& request) { return check(request); },
               .body_of =
                   [this](const access::HttpRequest& request) { return router.body_plan(request); },
               .spool = &parts.spool.fd()},
              runtime.log()) {
        http.change([&settings](auto& options) { set_options(options, settings); });
    }

    // What comes on connections that are still open while the server finishes.
    std::optional<access::HttpResponse> check(const access::HttpRequest& request) {
        if (http.is_draining() && !routes.is_public(request)) {
            access::HttpResponse refusal = access::make_refusal(503, "the server is stopping");
            refusal.headers.emplace_back("Retry-After", "1");
            return refusal;
        }
        return router.check(request);
    }

    void stop() {
        mcp.stop();
        http.stop();
    }

    mcp::Server mcp;
    api::Routes routes;
    transport::HttpRouter router;
    transport::HttpServer http;
};

Task<Result<void>> serve_until_stopped(Runtime* runtime, Service* service,
                                       Authorization* authorization, Operations* operations,
                                       std::function<void()> greeting) {
    runtime->engine().require_self_test();
    BJ_CO_TRY_VOID(co_await runtime->engine().self_test());
    co_await authorization->begin(&runtime->tasks());
    greeting();
    operations->begin();
    co_await service->http.run();
    co_await finish_requests(runtime, &service->http,
                             operations->reload().settings().server.shutdown_time);
    authorization->stop();
    service->stop();
    const TimePoint deadline = Clock::now() + kFarewellTime;
    co_await service->http.wait(deadline);
    co_await service->mcp.wait(deadline);
    co_return runtime->check_warden();
}

// A setting that is accepted but used by nothing must not look as if it were in force.
void warn_of_unused(const config::Loaded& loaded, const Log& log) {
    constexpr std::array<std::string_view, 2> kUnusedSections{"files.workspace_path", "packages."};
    for (const config::Entry& entry : loaded.entries) {
        const std::string_view key = entry.key->name;
        const bool unused = key == "isolation.container_image" ||
                            std::ranges::any_of(kUnusedSections, [key](std::string_view section) {
                                return key.starts_with(section);
                            });
        if (unused && entry.origin.source != config::Origin::Source::Default) {
            log.warning("a setting has no effect in this version",
                        {{"key", key}, {"origin", entry.origin.describe()}});
        }
    }
}

void warn_of_fixtures(Fixtures fixtures, const Log& log) {
    if (fixtures == Fixtures::Present) {
        log.warning("tools for tests of the MCP protocol are offered (--conformance)");
    }
}

std::string_view note_of(Fixtures fixtures) {
    return fixtures == Fixtures::Present
               ? "For tests of the MCP protocol only: useless tools are offered.\n"
               : "";
}

Result<void> check_fixtures(const config::Settings& settings, Fixtures fixtures) {
    if (fixtures == Fixtures::Present && !config::is_loopback(settings.server.listen)) {
        return fail(ErrorCode::Denied,
                    "--conformance is allowed only on a loopback address such as 127.0.0.1:8080; "
                    "it offers tools that are for tests of the protocol");
    }
    return {};
}

// What outlives a server, in its data directory.
struct Kept {
    storage::DataDirectory directory;
    std::unique_ptr<storage::OutputStore> outputs;
    std::unique_ptr<storage::SessionRegister> sessions;
    Spool spool;
    Fd token_folder;
    Fd alerts_folder;
    std::unique_ptr<storage::ConversationStore> conversations;
    std::unique_ptr<storage::UrlSigner> signer;
    std::unique_ptr<ServerState> state;
    std::unique_ptr<audit::Trail> trail;         // nullptr: there is none
    std::unique_ptr<engine::Recorder> recorder;  // of the trail

    static Result<Kept> open(const config::Settings& settings) {
        BJ_TRY(storage::DataDirectory directory,
               storage::DataDirectory::open(choose_data_directory(settings)));
        BJ_TRY(std::unique_ptr<storage::OutputStore> outputs,
               storage::OutputStore::open(directory.fd(), {.runs = settings.files.output_keep,
                                                           .space = settings.files.output_space}));
        BJ_TRY(std::unique_ptr<storage::SessionRegister> sessions,
               storage::SessionRegister::open(directory.fd()));
        BJ_TRY(Spool spool, Spool::open(directory));
        BJ_TRY(Fd token_folder, access::open_token_folder(directory.fd()));
        BJ_TRY(Fd alerts_folder, open_alerts_folder(directory.fd()));
        BJ_TRY(std::unique_ptr<storage::ConversationStore> conversations,
               storage::ConversationStore::open(directory.fd(), conversation_bounds(settings)));
        BJ_TRY(std::unique_ptr<storage::UrlSigner> signer, make_url_signer(settings, directory));
        BJ_TRY(std::unique_ptr<ServerState> state, ServerState::prepare(settings, directory));
        BJ_TRY(std::unique_ptr<audit::Trail> trail, prepare_trail(settings, TrailUser::Server));
        auto recorder = trail ? std::make_unique<engine::Recorder>(*trail) : nullptr;
        return Kept{std::move(directory),     std::move(outputs),      std::move(sessions),
                    std::move(spool),         std::move(token_folder), std::move(alerts_folder),
                    std::move(conversations), std::move(signer),       std::move(state),
                    std::move(trail),         std::move(recorder)};
    }

    // To the account that the server runs as.
    [[nodiscard]] Result<void> give_to(const access::Account& account) const {
        BJ_TRY_VOID(directory.give_to(account.user, account.group));
        BJ_TRY_VOID(outputs->give_to(account.user, account.group));
        BJ_TRY_VOID(sessions->give_to(account.user, account.group));
        BJ_TRY_VOID(access::give_token_folder(token_folder, account.user, account.group));
        BJ_TRY_VOID(conversations->give_to(account.user, account.group));
        if (::fchown(alerts_folder.get(), account.user, account.group) != 0) {
            return fail(system_error("fchown the directory of alerts"));
        }
        if (trail) {
            BJ_TRY_VOID(trail->give_to(account.user, account.group));
        }
        return state->database()->give_to(account.user, account.group);
    }

    // After privileges were dropped.
    [[nodiscard]] Result<void> begin_trail(engine::Engine& engine) const {
        if (trail) {
            BJ_TRY_VOID(trail->start());
            engine.add_overseer(*recorder);
        }
        return {};
    }
};

Result<std::unique_ptr<Runtime>> make_runtime(const config::Settings& settings, const Kept& kept,
                                              engine::Callers callers) {
    return Runtime::create(settings, settings.log.level,
                           {.outputs = {.store = kept.outputs.get(),
                                        .uri_before = public_base(settings) + "/v1/runs/",
                                        .uri_after = "/output"},
                            .callers = callers,
                            .pool = pool_bounds(settings.pool),
                            .zygotes = engine::Zygotes::Lifetime{},
                            .sessions = session_bounds(settings),
                            .session_register = kept.sessions.get(),
                            .conversations = kept.conversations.get(),
                            .url_signer = kept.signer.get(),
                            .state = kept.state->database(),
                            .cleanup = cleanup_order(settings.storage)});
}

Result<void> try_serve(const config::Loaded& loaded, Fixtures fixtures) {
    const config::Settings& settings = loaded.settings;
    BJ_TRY(Inheritance inherited, Inheritance::take());
    BJ_TRY_VOID(check_fixtures(settings, fixtures));
    BJ_TRY(const Kept kept, Kept::open(settings));
    BJ_TRY(const engine::Callers callers, callers_of(settings.auth, kept.token_folder));
    BJ_TRY(std::unique_ptr<Runtime> runtime, make_runtime(settings, kept, callers));
    warn_of_unused(loaded, runtime->log());
    warn_of_fixtures(fixtures, runtime->log());
    BJ_TRY(Listeners listeners, Listeners::open(runtime->io().get_executor(), settings,
                                                std::move(inherited.sockets), runtime->log()));
    Operations operations(loaded, std::move(inherited.manager), *runtime);
    BJ_TRY_VOID(operations.prepare());
    // Only now that nothing stands in the way: a token is shown once, at the start that made it.
    BJ_TRY(TokenText token, choose_token(settings, kept.directory));
    token.note += note_of(fixtures);
    if (::geteuid() == 0) {
        BJ_TRY(const access::Account account, runtime->account());
        BJ_TRY_VOID(kept.give_to(account));
        BJ_TRY_VOID(operations.give_to(account, kept.spool, listeners));
    }
    BJ_TRY_VOID(runtime->drop_privileges());
    const ServerState::Use in_use(*kept.state);  // ends before the runtime does
    BJ_TRY_VOID(kept.state->start(runtime->engine()));
    BJ_TRY_VOID(kept.begin_trail(runtime->engine()));
    const std::string url = base_url(settings, listeners);
    BJ_TRY(const std::unique_ptr<Authorization> authorization,
           Authorization::create(settings, {.base_url = url,
                                            .token_folder = kept.token_folder,
                                            .executor = runtime->io().get_executor(),
                                            .log = runtime->log()}));
    access::Gate gate(authorization->gate_options({.token = token.token,
                                                   .named_tokens = named_tokens(settings),
                                                   .allowed_hosts = allowed_hosts(settings)}));
    runtime->engine().ask(*authorization);
    Administration administration(*runtime, operations.reload(), kept.token_folder, token.token);
    administration.record_with(kept.recorder.get(), kept.trail.get());
    BJ_TRY(const std::unique_ptr<Alerting> alerting,
           Alerting::create(settings.alerts, *runtime, kept.alerts_folder, *kept.conversations));
    Service service(
        *runtime, settings, fixtures,
        {std::move(gate), *kept.outputs, alerting->watch(administration.watch()), kept.spool});
    administration.attach(service.http, service.routes, *kept.conversations);
    alerting->add_to(service.routes);
    add_file_routes(service.routes, runtime->engine(), settings, {*kept.signer, url});
    listeners.add_to(service.http);
    operations.attach(service.http, service.router, listeners.tls());
    operations.reload().on_reload([&runtime](const config::Settings&) {
        runtime->look_at_policy();
        return Result<void>{};
    });
    return runtime->run(
        serve_until_stopped(runtime.get(), &service, authorization.get(), &operations,
                            [&] {
                                greet(url, token, runtime->isolation());
                                alerting->begin();
                            }),
        [&] {
            operations.stop();
            alerting->stop();
            service.http.drain();
        });
}

}  // namespace

int serve(const config::Loaded& loaded, Fixtures fixtures) {
    if (const Result<void> served = try_serve(loaded, fixtures); !served) {
        complain(served.error());
        return kExitFailed;
    }
    return 0;
}

}  // namespace belljar::apps
